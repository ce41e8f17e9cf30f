import { type LaneContext, txError } from '../context.js'
import { attemptCostBound } from '../signing/cost.js'
import type { Pump } from '../signing/pump.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Line } from './line.js'
import type { Preparer } from './prepare.js'
import type { Relieved } from './relief.js'

/** The transactions that cost more than the account has, or may: in line, or aside. */
export type ForMoney = {
  /**
   * Ends those that are not to wait for money and cost so much, once nothing that was sent before them may bring some.
   * `headWei`: what is in flight costs more than there is, and all wait behind it.
   */
  unpaid(isBeyond: (costWei: bigint) => boolean, headWei: bigint | undefined): void
  /** One that waits in line, or stepped aside, is to wait for money. */
  readonly isAny: boolean
  /** The lane waits for money for this one, and nothing of it is signed. */
  short(first: Transaction): void
  /** Those that stepped aside since there was no money for them. */
  readonly aside: readonly Transaction[]
  /** There may be money for them. */
  moneyCame(): void
  /** What can be paid may go, where others step aside. */
  payable(): void
}

export function createForMoney(parts: {
  readonly context: LaneContext
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
