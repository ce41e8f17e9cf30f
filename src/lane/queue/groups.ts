import { TxlaneError } from '../../errors/base.js'
import type { GroupPolicy, GroupShare } from '../../types/index.js'
import type { Transaction } from '../transaction/transaction.js'

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
export type Queues = {
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
export class GroupTally {
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
