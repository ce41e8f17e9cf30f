import type { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import type { StoredTransaction } from '../../types/store.js'
import { end, refresh, settleEnd } from '../transaction/changes.js'
import { fromStored } from '../transaction/stored.js'
import type { Transaction } from '../transaction/transaction.js'
import { endedError } from './endedError.js'
import { idConflict, isSameRequest } from './idConflict.js'

/** Ends transactions that are known in this process but are not admitted. */
export type Rejections = {
  /** Ends the transaction with the error. Waits of callers that found it by its id meanwhile end too. */
  reject(transaction: Transaction, error: TxlaneError): TxlaneError
  /**
   * The id stands for an ended transaction. Callers that found this one by its id meanwhile get the same end.
   */
  endedBefore(transaction: Transaction, stored: StoredTransaction): TxlaneError
  /** @throws TxlaneError `ID_CONFLICT` if the id stands for another request */
  assertSame(stored: StoredTransaction, transaction: Transaction): void
  conflict(stored: StoredTransaction, transaction: Transaction): TxlaneError
  forget(transaction: Transaction): void
}

export function createRejections(transactions: Map<string, Transaction>, clock: Clock): Rejections {
  function reject(transaction: Transaction, error: TxlaneError): TxlaneError {
    end(transaction, error, clock)
    forget(transaction)
    settleEnd(transaction)
    return error
  }

  function endedBefore(transaction: Transaction, stored: StoredTransaction): TxlaneError {
    assertSame(stored, transaction)
    refresh(transaction, stored)
    forget(transaction)
    settleEnd(transaction)
    return endedError(fromStored(stored))
  }

  function assertSame(stored: StoredTransaction, transaction: Transaction): void {
    if (!isSameRequest(stored, transaction.record)) throw conflict(stored, transaction)
  }

  function conflict(stored: StoredTransaction, transaction: Transaction): TxlaneError {
    const error = idConflict(fromStored(stored), transaction)
    const { tx } = error
    // `tx` describes the transaction that the id stands for. This one's description would say how it ended.
    return Object.assign(reject(transaction, error), { tx })
  }

  function forget(transaction: Transaction): void {
    if (transactions.get(transaction.id) === transaction) transactions.delete(transaction.id)
  }

  return { reject, endedBefore, assertSame, conflict, forget }
}
