import type { Lane } from '../../allocator/lane.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import { attemptCostBound } from '../signing/cost.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { AwaitingFunds } from '../signing/funds.js'
import type { NonceAssigner } from '../signing/nonceAssigner.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { MoveResult } from './poolRebalancer.js'
import type { Preparer } from './prepare.js'

export function createAwaitingFunds(parts: {
  readonly context: { readonly lane: Lane; readonly fees: FeeOracle }
  readonly queue: PendingQueue<Transaction>
  readonly preparer: Pick<Preparer, 'awaitingFunds' | 'unpaid' | 'short' | 'moneyCame'>
  readonly nonceAssigner: Pick<NonceAssigner, 'run'>
  /** Tries to move the transaction to another lane, because this account cannot pay for it. */
  readonly tryMoveToFundedLane: (transaction: Transaction) => MoveResult
  readonly failed: (transaction: Transaction, error: ReturnType<typeof txError>) => void
}): AwaitingFunds {
  const { context, queue, preparer, nonceAssigner } = parts
  const { book } = context.lane

  /** Ends a transaction that must not wait for funds, if no other account of its pool can pay for it. */
  function fail(transaction: Transaction, costWei: bigint): void {
    if (transaction.record.starved === undefined || parts.tryMoveToFundedLane(transaction) !== 'never') return
    const message = `The account cannot pay ${costWei} wei.`
    parts.failed(transaction, txError(transaction, 'STARVED', 'notExecuted', message))
  }

  return {
    unpaid(isBeyond, headWei) {
      // While the lane is held for the lowest nonce (`headWei`), no queued transaction steps aside, so all of
      // them are checked.
      const isAlone = headWei !== undefined || book.floor >= book.cursor
      for (const transaction of [...(isAlone ? queue : []), ...preparer.unpaid]) {
        const costWei = attemptCostBound(context, transaction)
        if (headWei !== undefined || isBeyond(costWei)) fail(transaction, headWei ?? costWei)
      }
    },
    get isAny() {
      for (const { record } of queue) if (record.starved === undefined) return true
      return preparer.awaitingFunds.some(({ record }) => record.starved === undefined)
    },
    short: preparer.short,
    get aside() {
      return preparer.awaitingFunds
    },
    moneyCame: preparer.moneyCame,
    payable: nonceAssigner.run,
  }
}
