import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { TxlaneError } from '../../errors/base.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import { lastClaim, newestAttempt, type Slot } from '../../ledger/slot.js'
import type { GroupPolicy, GroupShare } from '../../types/index.js'
import { mostGas } from '../../validate/gasBounds.js'
import type { Transaction } from '../transaction/transaction.js'
import { openMove } from './openMove.js'
import type { PendingQueue } from './pendingQueue.js'

/** The gas in flight of a lane, and its transactions by group. */
export type GroupCounts = {
  /** The sum of the gas limits of all transactions that have a nonce and are in no sealed block. */
  readonly gasInFlight: number
  /** Transactions of a group that wait for a nonce. */
  queued(group: string): number
  /** Transactions of a group that have a nonce and are in no sealed block. */
  inFlight(group: string): number
}

type Share = { readonly [field in keyof GroupShare]-?: NonNullable<GroupShare[field]> }

/** The share of a group. Transactions without a group have weight 1 and no bounds. */
export function shareOf(policy: GroupPolicy | undefined, group: string | undefined): Share {
  const own: GroupShare = group === undefined ? {} : (namedIn(policy, group) ?? {})
  const each: GroupShare = group === undefined ? {} : (policy?.each ?? {})
  return {
    weight: own.weight ?? each.weight ?? 1,
    queueMax: own.queueMax ?? each.queueMax ?? Number.POSITIVE_INFINITY,
    inFlightMax: own.inFlightMax ?? each.inFlightMax ?? Number.POSITIVE_INFINITY,
  }
}

function namedIn(policy: GroupPolicy | undefined, group: string): GroupShare | undefined {
  const named = policy?.named
  return named !== undefined && Object.hasOwn(named, group) ? named[group] : undefined
}

/** The queue of a lane, and the queues of the lanes that share its groups. */
type Queues = {
  /** Number of transactions that wait in the lane itself. */
  readonly size: number
  readonly queueMax: number
  readonly policy: GroupPolicy | undefined
  /** All lanes of the sender pool in this process, including the lane itself. */
  readonly lanes: readonly Pick<GroupCounts, 'queued'>[]
}

/** Returns `QUEUE_FULL` if the queue has no room for `more` transactions of the group, else undefined. */
export function queueRefusal(
  { size, queueMax, policy, lanes }: Queues,
  group: string | undefined,
  more = 1,
): TxlaneError | undefined {
  if (size + more > queueMax) return queueFull(`The queue is full: ${queueMax} transactions wait.`)
  if (group === undefined || policy === undefined) return undefined
  const share = shareOf(policy, group)
  const queued = lanes.reduce((sum, lane) => sum + lane.queued(group), 0)
  if (queued + more <= share.queueMax) return undefined
  const name = JSON.stringify(group)
  return queueFull(
    `The queue of the group ${name} is full: ${queued} of ${share.queueMax} transactions wait.`,
  )
}

function queueFull(message: string): TxlaneError {
  return new TxlaneError(message, { code: 'QUEUE_FULL', fate: 'notExecuted' })
}

/** Counts transactions by group. A group with a count of zero uses no memory. */
class GroupTally {
  private readonly counts = new Map<string, number>()

  readonly of = (group: string): number => this.counts.get(group) ?? 0

  /** A transaction without a group is not counted. */
  add(group: string | undefined, by: 1 | -1): void {
    if (group === undefined) return
    const now = this.of(group) + by
    if (now === 0) this.counts.delete(group)
    else this.counts.set(group, now)
  }
}

/** A set of transactions that counts them by group. */
export class GroupedSet extends Set<Transaction> {
  private readonly tally = new GroupTally()

  override add(one: Transaction): this {
    if (!this.has(one)) this.tally.add(one.group, 1)
    return super.add(one)
  }

  override delete(one: Transaction): boolean {
    const wasThere = super.delete(one)
    if (wasThere) this.tally.add(one.group, -1)
    return wasThere
  }

  readonly of = this.tally.of
}

/**
 * Bounds the transactions in flight that name a group. Groups share the room in blocks; they must not share
 * the transaction pool of a node, because a transaction that is in the pool already goes before every later
 * one.
 * All groups together have at most the gas of one block in flight. `inFlightMax` bounds a single group
 * further. All lanes of a sender pool count together.
 */
export type GroupBounds = GroupCounts & {
  /**
   * Whether the transaction may take a nonce now. Full groups are not checked here: the pending queue holds
   * them back.
   */
  admits(transaction: Transaction): boolean
  /** The bound that keeps the transaction from taking a nonce now. */
  boundOf(transaction: Transaction): 'inFlightMax' | 'blockGas' | undefined
  /** Closes each full group that is at the head of the pending queue. */
  closeFull(): void
  /** Reopens the groups for which other lanes of the sender pool have made room. */
  reopen(): void
  /** Counts the transaction that takes this nonce. */
  reserved(nonce: number, transaction: Transaction): void
  /** A slot changed. Its gas counts while the slot is open. */
  moved(nonce: number, before: Slot | undefined, after: Slot): void
}

type Use = { readonly gas: number; readonly group: string | undefined }

export function createGroupBounds(
  context: {
    readonly endpointPool: Pick<EndpointPool, 'chain' | 'tracker'>
    readonly transactions: Map<string, Transaction>
  },
  options: {
    readonly policy: GroupPolicy | undefined
    readonly queue: Pick<PendingQueue<Transaction>, 'peek' | 'close' | 'reopen' | 'closed'>
    /** All lanes of the sender pool in this process, including this lane. */
    readonly lanes: () => readonly GroupCounts[]
    /** Number of transactions of a group that wait for a nonce in this lane. */
    readonly queued: GroupCounts['queued']
  },
): GroupBounds {
  const { policy, queue, lanes } = options
  const uses = new NonceMap<Use>()
  const tally = new GroupTally()
  let gasInFlight = 0

  function set(nonce: number, use: Use | undefined): void {
    const was = uses.get(nonce)
    gasInFlight += (use?.gas ?? 0) - (was?.gas ?? 0)
    tally.add(was?.group, -1)
    tally.add(use?.group, 1)
    if (use === undefined) uses.delete(nonce)
    else uses.set(nonce, use)
    if (was?.group !== undefined && was.group !== use?.group) reopen(was.group)
  }

  function isFull(group: string): boolean {
    const { inFlightMax } = shareOf(policy, group)
    if (inFlightMax === Number.POSITIVE_INFINITY) return false
    return lanes().reduce((sum, lane) => sum + lane.inFlight(group), 0) >= inFlightMax
  }

  /** A transaction that needs more gas than a block has may go only while no other one is in flight. */
  function fitsBlock(transaction: Transaction): boolean {
    if (transaction.group === undefined) return true
    const { chain, tracker } = context.endpointPool
    const block = mostGas(chain, tracker.newest)
    if (block === undefined) return true
    const others = lanes().reduce((sum, lane) => sum + lane.gasInFlight, 0)
    return others === 0 || others + gasOf(transaction) <= Number(block)
  }

  function reopen(group: string): void {
    if (queue.closed.has(group) && !isFull(group)) queue.reopen(group)
  }

  return {
    get gasInFlight() {
      return gasInFlight
    },
    inFlight: tally.of,
    queued: options.queued,
    admits: fitsBlock,
    boundOf(transaction) {
      if (transaction.group !== undefined && isFull(transaction.group)) return 'inFlightMax'
      return fitsBlock(transaction) ? undefined : 'blockGas'
    },
    closeFull() {
      if (policy === undefined) return
      for (let first = queue.peek(); first?.group !== undefined && isFull(first.group); first = queue.peek())
        queue.close(first.group)
    },
    reopen() {
      for (const group of queue.closed) reopen(group)
    },
    reserved: (nonce, transaction) => set(nonce, { gas: gasOf(transaction), group: transaction.group }),
    moved(nonce, before, after) {
      const move = openMove(before, after)
      if (move === 'over') return set(nonce, undefined)
      if (move === 'same') return
      const claim = lastClaim(after)
      const transaction = claim === undefined ? undefined : context.transactions.get(claim)
      set(nonce, { gas: Number(newestAttempt(after)?.gas ?? 0n), group: transaction?.group })
    },
  }
}

function gasOf({ record: { gas, request } }: Transaction): number {
  return Number(gas ?? request.gas ?? 0n)
}
