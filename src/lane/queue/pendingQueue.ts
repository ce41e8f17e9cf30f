import { createHeap } from '../../ledger/heap.js'
import { before, createRank, type QueueEntry, type Rank, SMALL } from './rank.js'

export type { QueueEntry } from './rank.js'

/**
 * Decides which transaction takes the next nonce. The highest priority goes first. Within a priority the
 * groups take turns by their weights. Within a group the first to arrive goes first. An entry that may not go
 * yet keeps its place: later entries of its priority and group wait behind it, others do not.
 *
 * The turns are those of start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996). Each entry that goes
 * delays the next turn of its group by one divided by the group's weight. A group that starts anew begins at
 * the current turn, and a group without entries saves up no turns.
 */
export type PendingQueue<T extends QueueEntry> = {
  /**
   * Adds the entry at its place. An entry that is in the queue already stays there, and only its `mayGo`
   * changes. @default true
   */
  add(entry: T, mayGo?: boolean): void
  /** Removes the entry from any place. */
  remove(entry: T): void
  /** The first entry that may go. */
  peek(): T | undefined
  shift(): T | undefined
  /** Whether another entry is ahead of this one, or would be if this one were in the queue. */
  isBehind(entry: T): boolean
  /**
   * The entry that this one waits behind: the first of its priority and group, or the first of all that may
   * go.
   */
  ahead(entry: T): T | undefined
  /** No entry of a closed group goes. Entries of other groups do not wait for it. */
  close(group: string): void
  reopen(group: string): void
  readonly closed: ReadonlySet<string>
  /** Includes the entries that may not go yet. */
  readonly size: number
  /** Yields the entries that may go as soon as it is their turn. */
  [Symbol.iterator](): Iterator<T>
}

/**
 * This many empty tiers and ranks are kept, so that an idle lane does not create them again for each
 * transaction.
 */
const KEPT = 8

/** The groups of one priority. */
type Tier<T> = {
  readonly ranks: Map<string | undefined, Rank<T>>
  /** The turn of the last entry that went. */
  turn: number
  size: number
  /** With more ranks than this, the unneeded ones are removed. */
  pruneAt: number
}

/** An entry that was the first of its rank and could go when it was offered. */
type Candidate<T> = { readonly entry: T; readonly turn: number }

/**
 * Creates an empty queue. `weightOf` returns a number above 0: how many entries of the group go for each
 * entry of a group with weight 1.
 */
export function createPendingQueue<T extends QueueEntry>(
  weightOf: (group: string | undefined) => number = () => 1,
): PendingQueue<T> {
  const tiers = new Map<number, Tier<T>>()
  const closed = new Set<string>()
  // The first entry of each rank, if it may go. Outdated candidates stay until they come to the top.
  let next = createHeap<Candidate<T>>(goesBefore)
  let size = 0
  let rankCount = 0

  function tierOf(priority: number): Tier<T> {
    let tier = tiers.get(priority)
    if (tier === undefined) {
      tier = { ranks: new Map(), turn: 0, size: 0, pruneAt: SMALL }
      tiers.set(priority, tier)
    }
    return tier
  }

  function rankIn(tier: Tier<T>, group: string | undefined): Rank<T> {
    let rank = tier.ranks.get(group)
    if (rank === undefined) {
      rank = createRank<T>(tier.turn)
      tier.ranks.set(group, rank)
      rankCount++
    } else if (rank.members.size === 0 && rank.turn < tier.turn) rank.turn = tier.turn
    return rank
  }

  const isClosed = (group: string | undefined) => group !== undefined && closed.has(group)
  const rankOf = ({ priority, group }: T) => tiers.get(priority)?.ranks.get(group)

  function mayBeNext(entry: T): boolean {
    const rank = rankOf(entry)
    return (
      rank !== undefined &&
      rank.members.get(entry) === true &&
      !isClosed(entry.group) &&
      rank.first() === entry
    )
  }

  function offer(entry: T | undefined): void {
    if (entry === undefined || !mayBeNext(entry)) return
    if (next.size > SMALL + 2 * rankCount) makeAnew()
    else next.push({ entry, turn: turnOf(entry) })
  }

  function makeAnew(): void {
    next = createHeap<Candidate<T>>(goesBefore)
    for (const { ranks } of tiers.values())
      for (const { members, first, turn } of ranks.values()) {
        const entry = first()
        if (entry !== undefined && members.get(entry) && !isClosed(entry.group)) next.push({ entry, turn })
      }
  }

  /** The turn of the entry's group, or the turn that a new group would get. */
  function turnOf(entry: T): number {
    const tier = tiers.get(entry.priority)
    const rank = tier?.ranks.get(entry.group)
    return rank === undefined || rank.members.size === 0
      ? Math.max(rank?.turn ?? 0, tier?.turn ?? 0)
      : rank.turn
  }

  function top(): Candidate<T> | undefined {
    for (let one = next.peek(); one !== undefined; one = next.peek()) {
      if (mayBeNext(one.entry) && rankOf(one.entry)?.turn === one.turn) return one
      next.pop()
    }
    return undefined
  }

  function remove(entry: T): void {
    const tier = tiers.get(entry.priority)
    const rank = tier?.ranks.get(entry.group)
    if (tier === undefined || !rank?.members.has(entry)) return
    size--
    tier.size--
    const wasFirst = rank.first() === entry
    rank.remove(entry)
    if (tier.size === 0) return clear(entry.priority, tier)
    if (wasFirst) offer(rank.first())
    if (rank.members.size === 0 && tier.ranks.size > tier.pruneAt) prune(tier)
  }

  /** Resets an empty tier, so that the next entry of any group starts at the first turn. */
  function clear(priority: number, tier: Tier<T>): void {
    tier.turn = 0
    if (tiers.size > KEPT || tier.ranks.size > KEPT) {
      rankCount -= tier.ranks.size
      tiers.delete(priority)
    } else for (const rank of tier.ranks.values()) rank.turn = 0
  }

  /** Forgets the empty groups whose turn has passed. A new rank would get the same turn. */
  function prune(tier: Tier<T>): void {
    for (const [group, rank] of tier.ranks) {
      if (rank.members.size > 0 || rank.turn > tier.turn) continue
      tier.ranks.delete(group)
      rankCount--
    }
    tier.pruneAt = Math.max(SMALL, 2 * tier.ranks.size)
  }

  function first(entry: T): T | undefined {
    const own = rankOf(entry)?.first()
    if (own !== undefined && before(own, entry)) return own
    const one = top()
    return one && goesBefore(one, { entry, turn: turnOf(entry) }) ? one.entry : undefined
  }

  return {
    add(entry, mayGo = true) {
      const tier = tierOf(entry.priority)
      const rank = rankIn(tier, entry.group)
      const was = rank.members.get(entry)
      if (was === mayGo) return
      if (was === undefined) {
        size++
        tier.size++
      }
      rank.put(entry, mayGo)
      if (mayGo) offer(entry)
    },
    remove,
    peek: () => top()?.entry,
    shift() {
      const one = top()
      if (one === undefined) return undefined
      next.pop()
      const { entry, turn } = one
      const tier = tierOf(entry.priority)
      tier.turn = turn
      rankIn(tier, entry.group).turn = turn + 1 / weightOf(entry.group)
      remove(entry)
      return entry
    },
    ahead: first,
    isBehind(entry) {
      if (first(entry) !== undefined) return true
      for (const [priority, tier] of tiers) if (priority > entry.priority && tier.size > 0) return true
      return false
    },
    close: (group) => void closed.add(group),
    closed,
    reopen(group) {
      if (!closed.delete(group)) return
      for (const { ranks } of tiers.values()) offer(ranks.get(group)?.first())
    },
    get size() {
      return size
    },
    *[Symbol.iterator]() {
      for (const { ranks } of tiers.values())
        for (const { members } of ranks.values()) for (const [entry, mayGo] of members) if (mayGo) yield entry
    },
  }
}

function goesBefore<T extends QueueEntry>(a: Candidate<T>, b: Candidate<T>): boolean {
  const [one, other] = [a.entry, b.entry]
  if (one.priority !== other.priority) return one.priority > other.priority
  return a.turn === b.turn ? before(one, other) : a.turn < b.turn
}
