import { createRank, type QueueEntry, type Rank, SMALL } from './rank.js'

/** The groups of one priority. */
export type Tier<T> = {
  readonly ranks: Map<string | undefined, Rank<T>>
  /** The turn of the last entry that went. */
  turn: number
  size: number
  /** With more ranks than this, the unneeded ones are removed. */
  pruneAt: number
}

/** The entries of a queue by priority and group. */
export type Tiers<T extends QueueEntry> = {
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

export function createTiers<T extends QueueEntry>(): Tiers<T> {
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
