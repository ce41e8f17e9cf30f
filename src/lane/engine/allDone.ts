import type { Lane } from '../../allocator/lane.js'
import type { StoredTransaction } from '../../types/store.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'

type AllDoneContext = {
  readonly lane: Lane
  readonly transactions: Map<string, Transaction>
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
}

/**
 * Nothing is queued or being signed (`open` counts both), every nonce is used, and each transaction is
 * finished.
 */
export function isAllDone({ lane, transactions, handedOff }: AllDoneContext, open: number): boolean {
  const { book } = lane
  if (open > 0 || book.floor !== book.cursor) return false
  // If another transaction used its nonce, a transaction may move to another nonce, so it is not
  // finished before its verdict.
  for (const transaction of transactions.values()) {
    const isOver = hasReached(transaction, 'sealed') || hasFailed(transaction) || transaction.unresolved
    if (!isOver && !handedOff.has(transaction)) return false
  }
  return true
}
