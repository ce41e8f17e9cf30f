import type { Hash } from 'viem'
import type { Advance } from './chainWalk.js'
import type { Follower } from './follower.js'
import type { TagWanted } from './tags.js'

/** The followers of a tracker, and the hashes that they watch. */
export type FollowerSet = {
  readonly all: ReadonlySet<Follower>
  follow(follower: Follower): () => void
  watch(hash: Hash, follower: Follower): void
  unwatch(hash: Hash): void
  /** The number of watched hashes. */
  readonly watched: number
  /** How urgently the followers need a tag. */
  tagWanted(tag: 'safe' | 'finalized'): TagWanted
  /** The watched hashes among these from the index `from` on, by follower. */
  ownOf(hashes: readonly Hash[], from: number): ReadonlyMap<Follower, readonly Hash[]>
  /** Reports the blocks that left, then the blocks that came. */
  moved(moved: Advance): Promise<void>
}

export function createFollowerSet(): FollowerSet {
  const all = new Set<Follower>()
  const watched = new Map<Hash, Follower>()

  function ownOf(hashes: readonly Hash[], from: number): Map<Follower, Hash[]> {
    const own = new Map<Follower, Hash[]>()
    if (watched.size === 0) return own
    for (let index = from; index < hashes.length; index++) {
      const hash = hashes[index]
      const follower = hash && watched.get(hash)
      if (!follower) continue
      const list = own.get(follower)
      if (list) list.push(hash)
      else own.set(follower, [hash])
    }
    return own
  }

  return {
    all,
    follow(follower) {
      all.add(follower)
      return () => {
        all.delete(follower)
      }
    },
    watch: (hash, follower) => void watched.set(hash, follower),
    unwatch: (hash) => void watched.delete(hash),
    get watched() {
      return watched.size
    },
    tagWanted(tag) {
      const wants = new Set([...all].map((follower) => follower.tags()[tag]))
      return (['now', 'sometime'] as const).find((want) => wants.has(want)) ?? 'never'
    },
    ownOf,
    async moved({ left, came }) {
      for (const block of left) for (const follower of all) follower.left(block)
      for (const block of came) {
        const own = ownOf(block.hashes, 0)
        for (const follower of all) await follower.sealed(block, own.get(follower) ?? [])
      }
    },
  }
}
