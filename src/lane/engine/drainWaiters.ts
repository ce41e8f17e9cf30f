import type { Lane } from '../../allocator/lane.js'
import type { StoredTransaction } from '../../types/store.js'
import type { Transaction } from '../transaction/transaction.js'
import { hasFailed, hasReached } from '../transaction/transaction.js'

type DrainWaitersContext = {
  readonly lane: Lane
  readonly transactions: Map<string, Transaction>
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
}

/**
 * Promises for the moment at which all work is done. The condition is checked after each tick and on request.
 */
export function createDrainWaiters(isDrained: () => boolean) {
  let waiters: (() => void)[] = []
  function settle(): void {
    const all = waiters
    waiters = []
    for (const done of all) done()
  }
  return {
    add(): Promise<void> {
      if (isDrained()) return Promise.resolve()
      return new Promise((resolve) => waiters.push(resolve))
    },
    check(): void {
      if (waiters.length > 0 && isDrained()) settle()
    },
  }
}

/**
 * Nothing is queued or being signed (`open` counts both), every nonce is used, and each transaction is
 * finished.
 */
export function isAllDone({ lane, transactions, handedOff }: DrainWaitersContext, open: number): boolean {
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
