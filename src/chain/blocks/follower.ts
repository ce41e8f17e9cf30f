import type { Address, Hash } from 'viem'
import type { BlockRef } from '../../ledger/slot.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { Advance } from './chainWalk.js'
import type { TagsWanted } from './tags.js'

/** A sealed block as the tracker walks it: linked to its predecessor by the parent hash. */
export type SealedBlock = BlockRef & {
  readonly parentHash: Hash
  /** Seconds since the epoch. */
  readonly timestamp: number
  /** As in `LightHeader`. */
  readonly timestampMs?: number | undefined
  readonly baseFeePerGas: bigint | undefined
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  readonly hashes: readonly Hash[]
  /** As in `LightHeader`. */
  readonly fork?: 'shanghai' | 'prague' | undefined
}

/** The paces from the fastest to the slowest. */
export const PACES = ['cadence', 'head', 'block', 'rest'] as const

/**
 * How often a follower has to poll. `cadence`: at the cadence. `head`: as soon as a pending or sealed block
 * brings news, because nothing else does. `block`: once per sealed block. `rest`: rarely, because only finality
 * is awaited. `idle`: not at all.
 */
export type Pace = (typeof PACES)[number] | 'idle'

/** Undefined if no follower polls. */
export function fastestOf(paces: ReadonlySet<Pace>): Exclude<Pace, 'idle'> | undefined {
  return PACES.find((pace) => paces.has(pace))
}

/** The account's counts at both tags, as far as they were read. */
export type Counts = {
  latest: number | undefined
  pending: number | undefined
  /** When they were requested, in clock milliseconds. */
  readonly askedAtMs: number
}

/** The result of one tick. */
export type Look = {
  /** When it was requested, in clock milliseconds. */
  readonly askedAtMs: number
  /** A pending block above the head was read. */
  readonly hasPending: boolean
  /**
   * How often the pending block has been rebuilt, as far as polls have shown; undefined if its period is not
   * known.
   */
  readonly refreshes: number | undefined
  /** Milliseconds between two refreshes of the pending block: learned, or the poll interval. */
  readonly refreshMs: number
}

/**
 * Receives the tracker's observations for one lane. The methods are called in the order of the chain, never
 * while a tick is open. If a method takes several turns of the event loop, the tracker awaits it before the
 * next call.
 */
export type Follower = {
  readonly address: Address
  pace(): Pace
  /** How urgently the follower needs the tags `safe` and `finalized`. */
  tags(): TagsWanted
  wantsBalance(): boolean
  /** Requests the count at `pending`, even if the endpoint is known not to count its mempool there. */
  wantsPending?(): boolean
  /**
   * A block joined after the open transactions were sent, and does not contain them: the account's counts may
   * show the reason.
   */
  isPassedOver?(): boolean
  /**
   * The calls for a tick instead of the account's counts. `ticked` is called once all replies were handled.
   */
  reads?(): readonly { readonly call: RpcCall; readonly take: (reply: RpcReply) => void }[]
  /** A block joined the chain. `own` are the watched hashes in it. */
  sealed(block: SealedBlock, own: readonly Hash[]): Promise<void>
  /**
   * A block left the chain. Called from the tip downwards, before the calls for the blocks that replace it.
   */
  left(block: BlockRef): void
  /** Watched hashes seen in the pending block of that number. Each is reported once per number. */
  preconfirmed(blockNumber: number, own: readonly Hash[]): void
  /** Like `preconfirmed`, but from an external feed, whatever the endpoint shows as pending. */
  observed(blockNumber: number, own: readonly Hash[]): void
  /**
   * A trigger, never evidence: nodes behind one URL may disagree. `head` is the tip at which the counts were
   * read.
   */
  counts(counts: Counts, head: number): void
  balance(wei: bigint): void
  /** All observations of a tick have been reported. `newHead`: a sealed block joined in it. */
  ticked(newHead: boolean, look: Look): Promise<void>
  /** A tick got no answer. Called for each such tick. */
  unreachable(why: string): void
  /** A follower threw during a tick: a bug, never the endpoint's fault. */
  broken(error: unknown): void
}

/** A follower that never polls, needs nothing and ignores every observation. Others replace what they need of it. */
export const IDLE_FOLLOWER: Omit<Follower, 'address'> = {
  pace: () => 'idle',
  tags: () => 'never',
  wantsBalance: () => false,
  async sealed() {},
  left() {},
  preconfirmed() {},
  observed() {},
  counts() {},
  balance() {},
  async ticked() {},
  unreachable() {},
  broken() {},
}

/** The followers of a tracker, and the hashes that they watch. */
export type FollowerSet = {
  readonly all: ReadonlySet<Follower>
  follow(follower: Follower): () => void
  watch(hash: Hash, follower: Follower): void
  unwatch(hash: Hash): void
  /** The number of watched hashes. */
  readonly watched: number
  /** How urgently the followers need the tags. */
  tagsWanted(): TagsWanted
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
    tagsWanted() {
      const wants = new Set([...all].map((follower) => follower.tags()))
      return (['now', 'sometime', 'seldom'] as const).find((want) => wants.has(want)) ?? 'never'
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
