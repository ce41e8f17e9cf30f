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
 * Compares the maximum cost of the lane's transactions with the balance. While some are in flight, a shortage
 * is backpressure: the balance changes when they land. A transaction that costs more than the account has
 * steps aside for cheaper ones. The lane is starved only if the lowest nonce, or every queued transaction,
 * cannot be paid, and no other endpoint shows otherwise.
 */
export type Funds = {
  /**
   * Whether this costs more than the account has, regardless of transactions in flight, and no endpoint shows
   * otherwise.
   */
  isBeyond(costWei: bigint): boolean
  /**
   * Whether `costWei` more can be paid besides the transactions in flight. If it seems not, the balance is
   * read.
   */
  afford(costWei: bigint): boolean
  /** A nonce was reserved for a transaction with this maximum cost. */
  reserved(nonce: number, costWei: bigint): void
  /** A slot changed. Its maximum cost counts while it is open. */
  moved(nonce: number, before: Slot | undefined, after: Slot): void
  /** A node refused a transaction for lack of funds. */
  refused(): void
  balance(wei: bigint): void
  /** Whether the balance is to be read with the next tick. */
  readonly wanted: boolean
  readonly balanceWei: bigint | undefined
  /** The cost that did not fit besides the transactions in flight. */
  readonly shortWei: bigint | undefined
  /** Maximum cost of everything in flight or queued, in wei. */
  readonly owedWei: bigint
  /** Balance minus that, in wei; undefined until the balance was read. */
  readonly spareWei: bigint | undefined
  /** Requests a read of the balance with the next tick if the last one may be out of date; true if so. */
  weigh(): boolean
}

/** The transactions that cost, or may cost, more than the account has: queued or aside. */
export type AwaitingFunds = {
  /**
   * Ends the transactions that must not wait for money and cost too much, once no earlier transaction may
   * still bring some. `headWei`: the lowest nonce costs more than the balance, and all wait behind it.
   */
  unpaid(isBeyond: (costWei: bigint) => boolean, headWei: bigint | undefined): void
  /** Whether a transaction, queued or aside, waits for money. */
  readonly isAny: boolean
  /** The lane waits for money for this transaction, which is not signed yet. */
  short(first: Transaction): void
  /** The transactions that stepped aside for lack of money. */
  readonly aside: readonly Transaction[]
  /** There may be money for them now. */
  moneyCame(): void
  /** Transactions that can be paid may go, as others step aside. */
  payable(): void
}

/** A reading of this age is as good as a new one. */
const FRESH_MS = 1_000

export function createFunds(
  context: FundsContext,
  queue: PendingQueue<Transaction>,
  waiting: () => AwaitingFunds,
): Funds {
  const costs = new NonceMap<bigint>()
  let committed = 0n
  let balanceWei: bigint | undefined
  // The cost that did not fit; 0 while everything fits.
  let missingWei = 0n
  let refusedByNode = false
  let asked = false
  let balanceAtMs = Number.NEGATIVE_INFINITY
  // The lowest cost for which no endpoint shows enough balance.
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

  /** The cost of the next queued transaction; if the queue is empty, of the cheapest one aside. */
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
    // The transaction that did not fit may have been cancelled, or moved to another lane.
    if (missingWei > 0n || queue.size === 0) missingWei = firstCost() ?? 0n
    // The lowest nonce pays first. A transaction behind it that fits the balance goes when others have
    // landed.
    const head = headCost()
    const isHead = head > balanceWei
    const needed = isHead ? head : missingWei
    const short = needed > balanceWei && (missingWei > 0n || refusedByNode)
    // The price of the lowest nonce is signed already.
    if (short && !elsewhere.confirms({ needed, balanceWei, isPriced: isHead })) return
    if (!short) elsewhere.forget()
    if (short && !isHead) proveBeyond(needed)
    // A landing transaction may bring money.
    const isAlone = isHead || committed === 0n
    waiting().unpaid(isBeyond, short && isHead ? needed : undefined)
    // No reason for a hold if the waiting transactions failed, or some of them can be paid.
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

  /** The balance has grown: the transactions aside may be paid. */
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
      // It landed, so at most this amount is spent. The exact balance is read when it begins to matter.
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
