import type { Lane } from '../../allocator/lane.js'
import type { Line } from '../queue/pendingQueue.js'
import { attemptCostBound } from '../signing/cost.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { ForMoney } from '../signing/funds.js'
import type { Pump } from '../signing/nonceAssigner.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { Relieved } from './poolRebalancer.js'
import type { Preparer } from './prepare.js'

export function createForMoney(parts: {
  readonly context: { readonly lane: Lane; readonly fees: FeeOracle }
  readonly line: Line<Transaction>
  readonly preparer: Pick<Preparer, 'forMoney' | 'unpaid' | 'short' | 'moneyCame'>
  readonly pump: Pick<Pump, 'run'>
  /** There is no money for it here: another lane may take it. */
  readonly relieved: (transaction: Transaction) => Relieved
  readonly failed: (transaction: Transaction, error: ReturnType<typeof txError>) => void
}): ForMoney {
  const { context, line, preparer, pump } = parts
  const { book } = context.lane

  /** Where it is not to wait for money, and no other account of its pool has it. */
  function fail(transaction: Transaction, costWei: bigint): void {
    if (transaction.starved === undefined || parts.relieved(transaction) !== 'never') return
    const message = `The account cannot pay ${costWei} wei.`
    parts.failed(transaction, txError(transaction, 'STARVED', 'notExecuted', message))
  }

  return {
    unpaid(isBeyond, headWei) {
      // Held for another one, the lane lets none of the line step aside.
      const isAlone = headWei !== undefined || book.floor >= book.cursor
      for (const transaction of [...(isAlone ? line : []), ...preparer.unpaid]) {
        const costWei = attemptCostBound(context, transaction)
        if (headWei !== undefined || isBeyond(costWei)) fail(transaction, headWei ?? costWei)
      }
    },
    get isAny() {
      for (const { starved } of line) if (starved === undefined) return true
      return preparer.forMoney.some(({ starved }) => starved === undefined)
    },
    short: preparer.short,
    get aside() {
      return preparer.forMoney
    },
    moneyCame: preparer.moneyCame,
    payable: pump.run,
  }
}
