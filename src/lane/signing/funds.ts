import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import type { Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits } from '../../types/index.js'
import { openMove } from '../queue/openMove.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { Transaction } from '../transaction/transaction.js'
import { attemptCost, attemptCostBound } from './cost.js'
import type { FeeOracle } from './feeOracle.js'
import { createShortageCheck } from './shortageCheck.js'

type FundsContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly fees: FeeOracle
  readonly transactions: Map<string, Transaction>
  readonly closed: boolean
}

/**
 * What the lane's own transactions may cost at most, held against the balance. With some in flight a shortage is
 * backpressure: the balance changes when they land. What costs more than the account has steps aside for what can be
 * paid. Only where the head, or nothing of what waits, can be paid, and no other endpoint shows that it can, the lane is
 * starved.
 */
export type Funds = {
  /** It costs more than the account has, in flight or not, and no endpoint shows otherwise. */
  isBeyond(costWei: bigint): boolean
  /** Whether `costWei` more can be paid besides what is in flight. Asks for the balance when it seems not. */
  afford(costWei: bigint): boolean
  /** A nonce was reserved for something that may cost this much. */
  reserved(nonce: number, costWei: bigint): void
  /** A slot moved: what it may cost is counted while it is unfinished. */
  moved(nonce: number, before: Slot | undefined, after: Slot): void
  /** A node said that the account cannot pay. */
  refused(): void
  balance(wei: bigint): void
  /** Whether the balance is to be read with the next tick. */
  readonly wanted: boolean
  readonly balanceWei: bigint | undefined
  /** What did not fit beside all that is in flight. */
  readonly shortWei: bigint | undefined
  /** What all that is in flight and in line may cost at most. */
  readonly owedWei: bigint
  /** What is left of the balance beside that; undefined while it is not known. */
  readonly spareWei: bigint | undefined
  /** True where what is known of the balance may be out of date: it is read with the next tick. */
  weigh(): boolean
}

/** The transactions that cost more than the account has, or may: in line, or aside. */
export type AwaitingFunds = {
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

/** For so long a reading is as good as a new one. */
const FRESH_MS = 1_000

export function createFunds(
  context: FundsContext,
  queue: PendingQueue<Transaction>,
  waiting: () => AwaitingFunds,
): Funds {
  const costs = new NonceMap<bigint>()
  let committed = 0n
  let balanceWei: bigint | undefined
  // What did not fit, and how much it would have taken: 0 while all is well.
  let missingWei = 0n
  let refusedByNode = false
  let asked = false
  let balanceAtMs = Number.NEGATIVE_INFINITY
  // The lowest cost that no endpoint shows the account to have.
  let beyondWei: bigint | undefined
  const elsewhere = createShortageCheck(context, judge)

  function set(nonce: number, cost: bigint): void {
    committed += cost - (costs.get(nonce) ?? 0n)
    if (cost === 0n) costs.delete(nonce)
    else costs.set(nonce, cost)
  }

  function headCost(): bigint {
    return costs.get(context.lane.book.floor) ?? 0n
  }

  const costOf = (transaction: Transaction) => attemptCostBound(context, transaction)

  /** Of the next in line. Where none is, of the cheapest that stepped aside. */
  function firstCost(): bigint | undefined {
    const first = queue.peek()
    if (first) return costOf(first)
    return waiting()
      .aside.map(costOf)
      .reduce<bigint | undefined>(
        (least, cost) => (least === undefined || cost < least ? cost : least),
        undefined,
      )
  }

  function owedWei(): bigint {
    let owed = committed
    for (const one of queue) owed += costOf(one)
    return owed
  }

  function judge(): void {
    if (balanceWei === undefined) return
    forgetBeyond(balanceWei)
    // What did not fit may have been cancelled, or have gone elsewhere.
    if (missingWei > 0n || queue.size === 0) missingWei = firstCost() ?? 0n
    // The head pays first. What waits behind it and fits the balance goes when others have landed.
    const head = headCost()
    const isHead = head > balanceWei
    const needed = isHead ? head : missingWei
    const short = needed > balanceWei && (missingWei > 0n || refusedByNode)
    // What is being paid for already has its price.
    if (short && !elsewhere.confirms({ needed, balanceWei, isPriced: isHead })) return
    if (!short) elsewhere.forget()
    if (short && !isHead) proveBeyond(needed)
    // What lands may bring money.
    const isAlone = isHead || committed === 0n
    waiting().unpaid(isBeyond, short && isHead ? needed : undefined)
    // Where what waited failed, or can be paid in part, there is nothing to be held for.
    const held = short && isAlone && (isHead || (waiting().isAny && !isAnyPayable(balanceWei)))
    const first = queue.peek()
    if (held && !isHead && first) waiting().short(first)
    if (held) context.lane.holds.add('starved')
    else context.lane.holds.lift('starved')
    if ((short && isAlone && !held) || committed + missingWei <= balanceWei) settled()
    if (short && !held) waiting().payable()
  }

  function isAnyPayable(wei: bigint): boolean {
    for (const one of queue) if (costOf(one) <= wei) return true
    return false
  }

  function proveBeyond(wei: bigint): void {
    if (beyondWei === undefined || wei < beyondWei) beyondWei = wei
  }

  const isBeyond = (costWei: bigint): boolean => beyondWei !== undefined && costWei >= beyondWei

  /** The account has so much by now: those that stepped aside may be paid. */
  function forgetBeyond(balance: bigint): void {
    if (beyondWei === undefined || balance < beyondWei) return
    beyondWei = undefined
    waiting().moneyCame()
  }

  function settled(): void {
    missingWei = 0n
    refusedByNode = false
  }

  return {
    isBeyond,
    afford(costWei) {
      if (balanceWei === undefined || committed + costWei <= balanceWei) {
        missingWei = 0n
        return true
      }
      missingWei = costWei
      context.endpointPool.tracker.wake()
      return false
    },
    reserved: set,
    moved(nonce, before, after) {
      const move = openMove(before, after)
      if (move === 'same') return
      if (move === 'attempts') {
        let most = 0n
        for (const attempt of after.attempts) {
          const cost = attemptCost(context, attempt)
          if (cost > most) most = cost
        }
        set(nonce, most)
        return
      }
      const cost = costs.get(nonce)
      if (cost === undefined) return
      set(nonce, 0n)
      // It landed, so at most this much is gone; what exactly is read when it begins to matter.
      if (after.state === 'used' && balanceWei !== undefined) {
        balanceWei = balanceWei > cost ? balanceWei - cost : 0n
      }
    },
    refused() {
      refusedByNode = true
      context.endpointPool.tracker.wake()
    },
    balance(wei) {
      asked = false
      balanceWei = wei
      balanceAtMs = context.clock.now()
      judge()
    },
    get wanted() {
      return (
        asked ||
        missingWei > 0n ||
        refusedByNode ||
        waiting().aside.length > 0 ||
        context.lane.holds.has('starved') ||
        context.lane.holds.has('blocked')
      )
    },
    get balanceWei() {
      return balanceWei
    },
    get shortWei() {
      return missingWei > 0n ? missingWei : undefined
    },
    get owedWei() {
      return owedWei()
    },
    get spareWei() {
      return balanceWei === undefined ? undefined : balanceWei - owedWei()
    },
    weigh() {
      if (context.clock.now() - balanceAtMs < FRESH_MS) return false
      asked = true
      context.endpointPool.tracker.wake()
      return true
    },
  }
}
