import type { SendOptions } from '../../types/index.js'
import type { Caller } from '../transaction/caller.js'
import type { Transaction } from '../transaction/transaction.js'

/** Receives the transactions that are admitted: the leader's intake, or a standby. */
export type AdmissionListener = {
  /** The transaction is new here. Called in the same event-loop turn in which that was found. */
  readonly onAdmitting: (transaction: Transaction) => void
  /** The transaction is persisted in the store and must be sent. */
  readonly onAdmitted: (transaction: Transaction, options: SendOptions) => void
  /** The transaction must not be sent after all. */
  readonly onRejected: (transaction: Transaction) => void
  /** The caller got an error with fate `inFlight`. If the store has the transaction, it must be sent. */
  readonly onInDoubt: (id: string) => void
}

/** The listener that receives the transaction, and the caller that requested it. */
export type AdmissionParties = { readonly listener: AdmissionListener; readonly caller: Caller }
