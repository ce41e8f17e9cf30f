import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits } from '../../types/index.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { Transaction } from '../transaction/transaction.js'
import { attemptCost, attemptCostBound, createOpenCosts } from './cost.js'
import type { FeeOracle } from './feeOracle.js'
import { createShortageCheck } from './shortageCheck.js'

type FundsContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'doubtReader' | 'others' | 'tracker'>
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
  requestBalance(): boolean
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

/** The lowest cost for which no endpoint shows enough balance. */
type BeyondBalance = {
  isBeyond(costWei: bigint): boolean
  prove(costWei: bigint): void
  /** True if the balance has grown to the lowest cost, which is then forgotten. */
  isCovered(balanceWei: bigint): boolean
}

function createBeyondBalance(): BeyondBalance {
  let lowestWei: bigint | undefined
  return {
    isBeyond: (costWei) => lowestWei !== undefined && costWei >= lowestWei,
    prove(costWei) {
      if (lowestWei === undefined || costWei < lowestWei) lowestWei = costWei
    },
    isCovered(balanceWei) {
      if (lowestWei === undefined || balanceWei < lowestWei) return false
      lowestWei = undefined
      return true
    },
  }
}

export function createFunds(
  context: FundsContext,
  queue: PendingQueue<Transaction>,
  waiting: () => AwaitingFunds,
): Funds {
  const { clock } = context
  const { book, holds } = context.lane
  const { tracker } = context.endpointPool
  const open = createOpenCosts((attempt) => attemptCost(context, attempt))
  const queued = createQueuedCosts(context, queue, () => waiting().aside)
  const beyond = createBeyondBalance()
  const { isBeyond } = beyond
  const shortage = createShortageCheck(context, judge)
  let balanceWei: bigint | undefined
  let balanceAtMs = Number.NEGATIVE_INFINITY
  let isWanted = false
  // The cost that did not fit; 0 while everything fits.
  let missingWei = 0n
  let refusedByNode = false

  function judge(): void {
    if (balanceWei === undefined) return
    // The balance has grown: the transactions aside may be paid.
    if (beyond.isCovered(balanceWei)) waiting().moneyCame()
    // The transaction that did not fit may have been cancelled, or moved to another lane.
    if (missingWei > 0n || queue.size === 0) missingWei = queued.first() ?? 0n
    // The lowest nonce pays first. A transaction behind it that fits the balance goes when others have
    // landed.
    const headWei = open.at(book.floor)
    const isHead = headWei > balanceWei
    const needed = isHead ? headWei : missingWei
    const isShort = needed > balanceWei && (missingWei > 0n || refusedByNode)
    // The price of the lowest nonce is signed already.
    if (isShort && !shortage.confirms({ needed, balanceWei, isPriced: isHead })) return
    if (!isShort) shortage.forget()
    if (isShort && !isHead) beyond.prove(needed)
    // A landing transaction may bring money.
    const isAlone = isHead || open.totalWei === 0n
    waiting().unpaid(isBeyond, isShort && isHead ? needed : undefined)
    // No reason for a hold if the waiting transactions failed, or some of them can be paid.
    const isStarved = isShort && isAlone && (isHead || (waiting().isAny && !queued.isAnyPayable(balanceWei)))
    const first = queue.peek()
    if (isStarved && !isHead && first) waiting().short(first)
    if (isStarved) holds.add('starved')
    else holds.lift('starved')
    if ((isShort && isAlone && !isStarved) || open.totalWei + missingWei <= balanceWei) {
      missingWei = 0n
      refusedByNode = false
    }
    if (isShort && !isStarved) waiting().payable()
  }

  const owedWei = () => open.totalWei + queued.total()

  return {
    isBeyond,
    afford(costWei) {
      if (balanceWei === undefined || open.totalWei + costWei <= balanceWei) {
        missingWei = 0n
        return true
      }
      missingWei = costWei
      tracker.wake()
      return false
    },
    reserved: open.reserved,
    moved(nonce, before, after) {
      const closedWei = open.moved(nonce, before, after)
      // The transaction landed, so at most this amount is spent. The exact balance is read when it begins to matter.
      if (closedWei > 0n && after.state === 'used' && balanceWei !== undefined)
        balanceWei = balanceWei > closedWei ? balanceWei - closedWei : 0n
    },
    refused() {
      refusedByNode = true
      tracker.wake()
    },
    balance(wei) {
      isWanted = false
      balanceWei = wei
      balanceAtMs = clock.now()
      judge()
    },
    get wanted() {
      return (
        isWanted ||
        missingWei > 0n ||
        refusedByNode ||
        waiting().aside.length > 0 ||
        holds.has('starved') ||
        holds.has('blocked')
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
    requestBalance() {
      if (clock.now() - balanceAtMs < FRESH_MS) return false
      isWanted = true
      tracker.wake()
      return true
    },
  }
}

/** The maximum costs of the transactions that have no nonce yet, in wei. */
type QueuedCosts = {
  /** The cost of the next queued transaction; if the queue is empty, of the cheapest one aside. */
  first(): bigint | undefined
  /** The sum over the queue. */
  total(): bigint
  /** Whether a queued transaction costs at most this much. */
  isAnyPayable(wei: bigint): boolean
}

function createQueuedCosts(
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
