import type { PendingQueue } from '../queue/pendingQueue.js'
import type { Transaction } from '../transaction/transaction.js'
import { attemptCostBound } from './cost.js'
import type { FeeOracle } from './feeOracle.js'

/** The maximum costs of the transactions that have no nonce yet, in wei. */
export type QueuedCosts = {
  /** The cost of the next queued transaction; if the queue is empty, of the cheapest one aside. */
  first(): bigint | undefined
  /** The sum over the queue. */
  total(): bigint
  /** Whether a queued transaction costs at most this much. */
  isAnyPayable(wei: bigint): boolean
}

export function createQueuedCosts(
  context: { readonly fees: FeeOracle },
  queue: PendingQueue<Transaction>,
  /** The transactions that stepped aside for lack of money. */
  aside: () => readonly Transaction[],
): QueuedCosts {
  const costOf = (transaction: Transaction) => attemptCostBound(context, transaction)

  return {
    first() {
      const next = queue.peek()
      if (next) return costOf(next)
      return aside()
        .map(costOf)
        .reduce<bigint | undefined>(
          (least, cost) => (least === undefined || cost < least ? cost : least),
          undefined,
        )
    },
    total() {
      let total = 0n
      for (const one of queue) total += costOf(one)
      return total
    },
    isAnyPayable(wei) {
      for (const one of queue) if (costOf(one) <= wei) return true
      return false
    },
  }
}
