import type { TransactionReceipt } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { SealedBlock } from '../../chain/blocks/follower.js'
import type { Book } from '../../ledger/book.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import type { Attempt, Slot, Used } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { LaneSnapshot } from '../../types/index.js'
import { openMove } from '../queue/openMove.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Transaction } from '../transaction/transaction.js'
import { attemptFees, attemptFeesBound, createOpenCosts, mostOf } from './cost.js'
import type { FeeOracle } from './feeOracle.js'
import { createSpending, type Spending, untilNextMinute, type Window } from './spending.js'

type FeeBudgetContext = {
  readonly lane: Lane
  readonly clock: Clock
  readonly fees: FeeOracle
  readonly session: LaneSession
}

/**
 * Holds the lane while its next transaction could raise the fees above `fees.budget`. A transaction in flight
 * counts with its maximum cost. A landed one counts with its receipt, or else with its gas limit at the price
 * of its block.
 */
export type FeeBudgetGuard = {
  /** Whether `feesWei` more may be spent. If not, the lane is held. */
  allows(feesWei: bigint): boolean
  /** A nonce was reserved for a transaction with at most these fees. */
  reserved(nonce: number, feesWei: bigint): void
  moved(nonce: number, before: Slot | undefined, after: Slot): void
  /** The block of the `moved` calls that follow. */
  sealing(block: SealedBlock): void
  /** A valid receipt was read. */
  receipt(receipt: TransactionReceipt): void
  /** Checks the hold again: the window has moved, or the budget has changed. */
  check(): void
  /** An operator accepts the spending: landed transactions no longer count, transactions in flight do. */
  accept(): void
  /** Spending and limit per window. Undefined without a budget. */
  readonly windows: LaneSnapshot['feeBudget']
}

/** Spending from before this process opened the lane, in the clock of this process. */
export type SpentBefore = { readonly wei: bigint; readonly atMs: number }

export function createFeeBudget(
  context: FeeBudgetContext,
  queue: Pick<PendingQueue<Transaction>, 'peek'>,
  before: readonly SpentBefore[],
): FeeBudgetGuard {
  const { clock } = context
  const { book, holds } = context.lane
  const { settings } = context.session
  const spending = createSpending()
  for (const { wei, atMs } of before) spending.add(wei, atMs)
  const count = createFeeCount(context, book, spending)
  let isCounting = false
  let timer: CancelTimer | undefined

  function limits(): readonly (readonly [Window, bigint])[] {
    const { perHourWei, perDayWei } = settings.current.budget ?? {}
    const given = [['hour', perHourWei] as const, ['day', perDayWei] as const]
    return given.filter((limit): limit is readonly [Window, bigint] => limit[1] !== undefined)
  }

  /**
   * Starts or stops the count: without a budget nothing is counted. When a budget is set, open slots count
   * from then on, and so do slots that a reorg may still undo.
   */
  function startOrStop(): void {
    const isBounded = limits().length > 0
    if (isBounded === isCounting) return
    isCounting = isBounded
    count.clear()
    if (isBounded) for (const slot of book.slots.values()) count.moved(slot.nonce, undefined, slot)
    else spending.clear()
  }

  /** Describes the limit that `feesWei` more would exceed, if any. */
  function excess(feesWei: bigint): string | undefined {
    const { inFlightWei } = count
    for (const [window, limitWei] of limits()) {
      const spentWei = spending.in(window, clock.now())
      if (spentWei + inFlightWei + feesWei <= limitWei) continue
      return `The fees of the last ${window} are ${spentWei} wei, up to ${inFlightWei} wei are in flight, and the next transaction may cost ${feesWei} wei: the budget is ${limitWei} wei`
    }
    return undefined
  }

  function allows(feesWei: bigint): boolean {
    startOrStop()
    const detail = isCounting ? excess(feesWei) : undefined
    if (detail === undefined) {
      timer?.()
      timer = undefined
      holds.lift('feeBudget')
      return true
    }
    holds.add('feeBudget', detail)
    // Checked once a minute while the lane is held, because no other event may occur.
    timer ??= clock.setTimer(() => {
      timer = undefined
      look()
    }, untilNextMinute(clock.now()))
    return false
  }

  function look(): void {
    startOrStop()
    if (!holds.has('feeBudget')) return
    const first = queue.peek()
    allows(first === undefined ? 0n : attemptFeesBound(context, first))
  }

  return {
    allows: (feesWei) => settings.current.budget === undefined || allows(feesWei),
    reserved(nonce, feesWei) {
      if (isCounting) count.reserved(nonce, feesWei)
    },
    moved(nonce, was, slot) {
      if (isCounting) count.moved(nonce, was, slot)
    },
    sealing: count.sealing,
    receipt(receipt) {
      if (isCounting) count.receipt(receipt)
    },
    check: look,
    accept() {
      if (!holds.has('feeBudget')) return
      spending.clear()
      count.forgetLanded()
      look()
    },
    get windows() {
      startOrStop()
      const shown = limits().map(([window, limitWei]) => {
        const spentWei = spending.in(window, clock.now()) + count.inFlightWei
        return [window, { spentWei, limitWei }]
      })
      return shown.length === 0 ? undefined : Object.fromEntries(shown)
    },
  }
}

/** Counts the fees of each nonce: the maximum in flight, and the amount in `Spending` once it landed. */
type FeeCount = {
  /** Maximum fees of everything in flight, in wei. */
  readonly inFlightWei: bigint
  /** A nonce was reserved for a transaction with at most these fees. */
  reserved(nonce: number, feesWei: bigint): void
  moved(nonce: number, before: Slot | undefined, after: Slot): void
  /** The block of the `moved` calls that follow. */
  sealing(block: SealedBlock): void
  /** A valid receipt was read. */
  receipt(receipt: TransactionReceipt): void
  /** Landed transactions no longer count, transactions in flight do. */
  forgetLanded(): void
  /** Forgets everything. */
  clear(): void
}

type Landed = { readonly minute: number; readonly wei: bigint }

function createFeeCount(
  context: { readonly fees: FeeOracle; readonly clock: Pick<Clock, 'now'> },
  book: Book,
  spending: Pick<Spending, 'add' | 'correct'>,
): FeeCount {
  const { clock } = context
  const costOf = (attempt: Attempt) => attemptFees(context, attempt)
  let open = createOpenCosts(costOf)
  let landed = new NonceMap<Landed>()
  let block: SealedBlock | undefined

  /**
   * Called again for the final outcome, and if the nonce turns out to have been used by another transaction.
   */
  function land(nonce: number, before: Slot | undefined, slot: Used): void {
    const known = landed.get(nonce)
    if (before?.state !== 'used') {
      const wei = spentBy(slot)
      landed.set(nonce, { minute: spending.add(wei, clock.now()), wei })
    } else if (known !== undefined && !isSameUse(before, slot)) correct(nonce, known, spentBy(slot))
  }

  /** The fees at the gas limit. A foreign transaction cost this account nothing. */
  function spentBy(slot: Used): bigint {
    if (slot.by.kind === 'unproven') return mostOf(slot.attempts, costOf)
    const attempt = slot.attempts.find(({ hash }) => hash === hashOf(slot))
    const baseFee = slot.at?.hash === block?.hash ? block?.baseFeePerGas : undefined
    return attempt === undefined ? 0n : attemptFees(context, attempt, baseFee)
  }

  function correct(nonce: number, { minute, wei }: Landed, now: bigint): void {
    spending.correct(minute, now - wei)
    landed.set(nonce, { minute, wei: now })
  }

  function takeBack(nonce: number): void {
    const known = landed.get(nonce)
    if (known === undefined) return
    spending.correct(known.minute, -known.wei)
    landed.delete(nonce)
  }

  return {
    get inFlightWei() {
      return open.totalWei
    },
    reserved: (nonce, feesWei) => open.reserved(nonce, feesWei),
    moved(nonce, before, slot) {
      if (slot.state === 'reserved') return
      if (slot.state !== 'used' && slot.state !== 'final') takeBack(nonce)
      open.moved(nonce, before, slot)
      if (openMove(before, slot) !== 'over') return
      if (slot.state === 'used') land(nonce, before, slot)
      else landed.delete(nonce)
    },
    sealing(next) {
      block = next
    },
    receipt({ transactionHash, blockHash, ...receipt }) {
      const nonce = book.nonceOf(transactionHash)
      const known = nonce === undefined ? undefined : landed.get(nonce)
      if (nonce === undefined || known === undefined) return
      const slot = book.get(nonce)
      const wei = paidIn(receipt)
      if (slot?.state !== 'used' || slot.at?.hash !== blockHash || wei === undefined) return
      correct(nonce, known, wei)
    },
    forgetLanded() {
      landed = new NonceMap()
    },
    clear() {
      open = createOpenCosts(costOf)
      landed = new NonceMap()
    },
  }
}

const hashOf = ({ by }: Used) => (by.kind === 'unproven' ? undefined : by.hash)

function isSameUse(one: Used, other: Used): boolean {
  return hashOf(one) === hashOf(other) && one.at?.hash === other.at?.hash
}

const QUANTITY = /^0x[0-9a-f]{1,64}$/i

/**
 * The fees in a receipt. The OP stack adds `l1Fee`: a bigint if viem's chain definition parses it, otherwise
 * the node's hex string.
 */
function paidIn(receipt: object): bigint | undefined {
  const { gasUsed, effectiveGasPrice, l1Fee } = receipt as Record<string, unknown>
  if (typeof gasUsed !== 'bigint' || typeof effectiveGasPrice !== 'bigint') return undefined
  const isWritten = typeof l1Fee === 'string' && QUANTITY.test(l1Fee)
  return gasUsed * effectiveGasPrice + (typeof l1Fee === 'bigint' || isWritten ? BigInt(l1Fee) : 0n)
}
