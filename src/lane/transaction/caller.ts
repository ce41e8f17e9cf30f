import type { SendOptions, TxRequest } from '../../types/index.js'
import type { Transaction } from './transaction.js'

/** The position of a new transaction, if it is not the end of the queue. */
export type AdmissionTarget = {
  /** The transaction takes over the nonce of this one. */
  readonly replaces?: Transaction | undefined
  /** The transaction follows the one with this id, as the next of a sequence. */
  readonly follows?: string | undefined
  /** Any account of a pool may send it. */
  readonly pooled?: true | undefined
}

/**
 * Callbacks of the caller that submitted a transaction; one of them is called, once. No promise is used,
 * because every `send` has one already.
 */
export type Caller = {
  /**
   * The transaction is in the store. If its id was in the store already, this is the transaction with that
   * id, with its outcome.
   */
  readonly kept: (transaction: Transaction) => void
  readonly failed: (error: unknown) => void
}

type Add = (request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller) => void

/** The end of the queue. */
export const DEFAULT_TARGET: AdmissionTarget = {}

/** Promise form: resolves once the transaction is in the store. */
export function added(
  add: Add,
  request: TxRequest,
  options: SendOptions,
  target: AdmissionTarget = DEFAULT_TARGET,
): Promise<Transaction> {
  return new Promise((kept, failed) => add(request, options, target, { kept, failed }))
}
