import { createHeap } from '../../ledger/heap.js'

/** An entry of a `PendingQueue`. */
export type QueueEntry = {
  readonly priority: number
  readonly sequence: number
  readonly group?: string | undefined
}

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

/** An entry that was the first of its rank and could go when it was offered. */
type Candidate<T> = { readonly entry: T; readonly turn: number }

/**
 * Creates an empty queue. `weightOf` returns a number above 0: how many entries of the group go for each
 * entry of a group with weight 1.
 */
export function createPendingQueue<T extends QueueEntry>(
  weightOf: (group: string | undefined) => number = () => 1,
): PendingQueue<T> {
  const tiers = createTiers<T>()
  const { byPriority, tierOf, rankIn, rankOf, turnOf } = tiers
  const closed = new Set<string>()
  // The first entry of each rank, if it may go. Outdated candidates stay until they come to the top.
  let next = createHeap<Candidate<T>>(goesBefore)
  let size = 0

  const isClosed = (group: string | undefined) => group !== undefined && closed.has(group)

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
    if (next.size > SMALL + 2 * tiers.rankCount) rebuild()
    else next.push({ entry, turn: turnOf(entry) })
  }

  function rebuild(): void {
    next = createHeap<Candidate<T>>(goesBefore)
    for (const { ranks } of byPriority.values())
      for (const { members, first, turn } of ranks.values()) {
        const entry = first()
        if (entry !== undefined && members.get(entry) && !isClosed(entry.group)) next.push({ entry, turn })
      }
  }

  function top(): Candidate<T> | undefined {
    for (let one = next.peek(); one !== undefined; one = next.peek()) {
      if (mayBeNext(one.entry) && rankOf(one.entry)?.turn === one.turn) return one
      next.pop()
    }
    return undefined
  }

  function remove(entry: T): void {
    const tier = byPriority.get(entry.priority)
    const rank = tier?.ranks.get(entry.group)
    if (tier === undefined || !rank?.members.has(entry)) return
    size--
    tier.size--
    const wasFirst = rank.first() === entry
    rank.remove(entry)
    if (tier.size === 0) return tiers.clear(entry.priority, tier)
    if (wasFirst) offer(rank.first())
    if (rank.members.size === 0 && tier.ranks.size > tier.pruneAt) tiers.prune(tier)
  }

  function ahead(entry: T): T | undefined {
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
    ahead,
    isBehind(entry) {
      if (ahead(entry) !== undefined) return true
      for (const [priority, tier] of byPriority) if (priority > entry.priority && tier.size > 0) return true
      return false
    },
    close: (group) => void closed.add(group),
    closed,
    reopen(group) {
      if (!closed.delete(group)) return
      for (const { ranks } of byPriority.values()) offer(ranks.get(group)?.first())
    },
    get size() {
      return size
    },
    *[Symbol.iterator]() {
      for (const { ranks } of byPriority.values())
        for (const { members } of ranks.values()) for (const [entry, mayGo] of members) if (mayGo) yield entry
    },
  }
}

function goesBefore<T extends QueueEntry>(a: Candidate<T>, b: Candidate<T>): boolean {
  const [one, other] = [a.entry, b.entry]
  if (one.priority !== other.priority) return one.priority > other.priority
  return a.turn === b.turn ? before(one, other) : a.turn < b.turn
}

/** The groups of one priority. */
type Tier<T> = {
  readonly ranks: Map<string | undefined, Rank<T>>
  /** The turn of the last entry that went. */
  turn: number
  size: number
  /** With more ranks than this, the unneeded ones are removed. */
  pruneAt: number
}

/** The entries of a queue by priority and group. */
type Tiers<T extends QueueEntry> = {
  readonly byPriority: ReadonlyMap<number, Tier<T>>
  readonly rankCount: number
  /** The tier of the priority, created if it does not exist. */
  tierOf(priority: number): Tier<T>
  /**
   * The rank of the group, created if it does not exist. A group that starts anew begins at the current turn.
   */
  rankIn(tier: Tier<T>, group: string | undefined): Rank<T>
  rankOf(entry: T): Rank<T> | undefined
  /** The turn of the entry's group, or the turn that a new group would get. */
  turnOf(entry: T): number
  /** Resets an empty tier, so that the next entry of any group starts at the first turn. */
  clear(priority: number, tier: Tier<T>): void
  /** Forgets the empty groups whose turn has passed. A new rank would get the same turn. */
  prune(tier: Tier<T>): void
}

/**
 * This many empty tiers and ranks are kept, so that an idle lane does not create them again for each
 * transaction.
 */
const EMPTY_MAX = 8

function createTiers<T extends QueueEntry>(): Tiers<T> {
  const byPriority = new Map<number, Tier<T>>()
  let rankCount = 0

  return {
    byPriority,
    get rankCount() {
      return rankCount
    },
    tierOf(priority) {
      let tier = byPriority.get(priority)
      if (tier === undefined) {
        tier = { ranks: new Map(), turn: 0, size: 0, pruneAt: SMALL }
        byPriority.set(priority, tier)
      }
      return tier
    },
    rankIn(tier, group) {
      let rank = tier.ranks.get(group)
      if (rank === undefined) {
        rank = createRank<T>(tier.turn)
        tier.ranks.set(group, rank)
        rankCount++
      } else if (rank.members.size === 0 && rank.turn < tier.turn) rank.turn = tier.turn
      return rank
    },
    rankOf: ({ priority, group }) => byPriority.get(priority)?.ranks.get(group),
    turnOf({ priority, group }) {
      const tier = byPriority.get(priority)
      const rank = tier?.ranks.get(group)
      return rank === undefined || rank.members.size === 0
        ? Math.max(rank?.turn ?? 0, tier?.turn ?? 0)
        : rank.turn
    },
    clear(priority, tier) {
      tier.turn = 0
      if (byPriority.size > EMPTY_MAX || tier.ranks.size > EMPTY_MAX) {
        rankCount -= tier.ranks.size
        byPriority.delete(priority)
      } else for (const rank of tier.ranks.values()) rank.turn = 0
    },
    prune(tier) {
      for (const [group, rank] of tier.ranks) {
        if (rank.members.size > 0 || rank.turn > tier.turn) continue
        tier.ranks.delete(group)
        rankCount--
      }
      tier.pruneAt = Math.max(SMALL, 2 * tier.ranks.size)
    },
  }
}

/**
 * The entries of one priority and one group, in order of arrival. Removed entries are skipped when they come
 * to the front.
 */
type Rank<T> = {
  /** Maps each entry to whether it may go. */
  readonly members: Map<T, boolean>
  /** The turn in which the next entry goes, among the groups of its priority (see `PendingQueue`). */
  turn: number
  put(entry: T, mayGo: boolean): void
  remove(entry: T): void
  first(): T | undefined
}

/** With fewer entries a rebuild is not worth its cost. */
const SMALL = 64

function createRank<T extends QueueEntry>(turn: number): Rank<T> {
  // Nearly all entries arrive in the order in which they go; they are in `inOrder`, from index `at` on. Only
  // an entry that arrives out of order pays for the comparisons of a heap.
  let inOrder: T[] = []
  let at = 0
  let others = createHeap<T>(before)
  const members = new Map<T, boolean>()

  function skip(): void {
    at++
    if (at === inOrder.length || (at > SMALL && at * 2 > inOrder.length)) {
      inOrder = inOrder.slice(at)
      at = 0
    }
  }

  function firstInOrder(): T | undefined {
    for (let top = inOrder[at]; top !== undefined; top = inOrder[at]) {
      if (members.has(top)) return top
      skip()
    }
    return undefined
  }

  function firstOfOthers(): T | undefined {
    for (let top = others.peek(); top !== undefined; top = others.peek()) {
      if (members.has(top)) return top
      others.pop()
    }
    return undefined
  }

  function rebuild(): void {
    inOrder = [...members.keys()].sort((a, b) => a.sequence - b.sequence)
    at = 0
    others = createHeap<T>(before)
  }

  return {
    members,
    turn,
    put(entry, mayGo) {
      const isNew = !members.has(entry)
      members.set(entry, mayGo)
      if (!isNew) return
      const last = inOrder[inOrder.length - 1]
      if (last === undefined || before(last, entry)) inOrder.push(entry)
      else others.push(entry)
    },
    remove(entry) {
      members.delete(entry)
      const stored = inOrder.length - at + others.size
      if (stored > SMALL && members.size * 2 < stored) rebuild()
    },
    first() {
      const a = firstInOrder()
      const b = firstOfOthers()
      return a === undefined || (b !== undefined && before(b, a)) ? b : a
    },
  }
}

function before(a: QueueEntry, b: QueueEntry): boolean {
  return a.sequence < b.sequence
}
