import type { Hash } from 'viem'
import type { Moment } from '../../platform/clock.js'
import type { LightHeader } from '../../rpc/codec.js'
import type { Port } from '../../rpc/port.js'
import type { Arrivals } from './arrivals.js'
import { type ChainReaderOptions, createChainReader } from './chainReader.js'
import { type ChainViewOptions, createChainView } from './chainView.js'
import { createCounting } from './counting.js'
import { createFollowerSet, type Follower, fastestOf, type SealedBlock } from './follower.js'
import { createHeadFeed } from './headFeed.js'
import { createLoop, type Loop } from './loop.js'
import { createPacing } from './pacing.js'
import { createTick, type TickOptions } from './tick.js'

/**
 * The single poller of a chain and endpoint, for any number of lanes, keys and transactions. A tick is one
 * request. Its cost depends on the transactions that are new in the chain, not on those in flight.
 */
export type Tracker = Pick<Loop, 'wake' | 'nextTick' | 'onHead'> &
  Pick<Arrivals, 'headAtMs' | 'blockMs' | 'isAtRest' | 'stoodUpTo'> & {
    follow(follower: Follower): () => void
    /**
     * A new transaction is on its way: polls now, or as soon as the present poll is done. It does not poll if
     * the chain makes no early block for a transaction.
     */
    sent(): void
    /** The known state may be old: polls now. */
    lookNow(): void
    /** A follower now waits for something else: plans the next poll again. */
    plan(): void
    /**
     * Notifies `follower` when a block contains this hash. There is one follower per hash, because a hash
     * belongs to one account.
     */
    watch(hash: Hash, follower: Follower): void
    unwatch(hash: Hash): void
    /**
     * Reports the contents of the pending block again at the next tick, because their meaning may have
     * changed.
     */
    replayPending(): void
    /**
     * Another endpoint is read from the next tick on: observations about the former endpoint do not apply to
     * it.
     */
    onReaderChanged(): void
    /** The endpoint may be on another chain: the next tick is believed only if it proves the opposite. */
    requireChainCheck(): void
    /** Reports the newest block of a reading that was made before the walk began. */
    onNewestBlock(block: LightHeader): void
    /** Reports hashes that an external feed saw pre-confirmed. */
    observe(blockNumber: number, hashes: readonly Hash[]): void
    readonly head: SealedBlock | undefined
    /**
     * The head, or the newest block that was seen before the head joined. It only predicts the properties of
     * the next block.
     */
    readonly newest: SealedBlock | undefined
    /**
     * The endpoint shows a newer block than the head, or a block before the walk began: some blocks are not
     * walked yet.
     */
    readonly isBehind: boolean
    /** When a tick last brought a head. */
    readonly tickedAt: Moment | undefined
    /** The highest block seen under a tag; `'absent'` if the endpoint does not have the tag. */
    tag(tag: 'safe' | 'finalized'): number | 'absent' | undefined
    hashAt(number: number): Hash | undefined
    /**
     * Requests `hashAt` for a block below the start of the walk. Returns false if the block is too far back.
     */
    reach(number: number): boolean
    stop(): void
    /** Resolves once nothing is subscribed any more, after `stop`. */
    readonly unsubscribed: Promise<void>
  }

export type TrackerOptions = ChainReaderOptions &
  ChainViewOptions &
  TickOptions & {
    /** Milliseconds between polls at `cadence`. */
    readonly cadenceMs: () => number
    /** The endpoint that announces new blocks; undefined if none can. */
    readonly announcer?: () => Port | undefined
    /** The subscriptions to heads in this process, by URL. @default those of this poller alone */
    readonly headSubscriptions?: Map<string, unknown>
  }

/** Announcements that follow each other more closely than this part of the cadence are polled for together. */
const ANNOUNCED_PART = 3 / 4

export function createTracker(options: TrackerOptions): Tracker {
  const { clock } = options
  const followers = createFollowerSet()
  const reader = createChainReader(options)
  const chain = createChainView(options, followers.tagsWanted)
  const feed = createHeadFeed({
    clock,
    announcer: options.announcer ?? options.port,
    subscriptions: options.headSubscriptions ?? new Map(),
    hashAt: chain.hashAt,
    tip: () => chain.tip,
    onChange: () => loop.plan(),
    apartMs: () => options.cadenceMs() * ANNOUNCED_PART,
    timeoutMs: options.timeoutMs,
  })
  const pacing = createPacing({
    clock,
    feed,
    cadenceMs: options.cadenceMs,
    refreshes: () => options.pending().paced,
    blocks: chain.arrivals,
  })
  const counting = createCounting(followers.all, () => chain.tip?.hash, clock)
  const tick = createTick({ options, reader, chain, followers, counting, pacing })
  const loop: Loop = createLoop({
    clock,
    tick: poll,
    paces: () => [...followers.all].map(counting.paceOf),
    next(paces) {
      feed.want(fastestOf(paces) !== undefined)
      return pacing.next(paces, tick)
    },
    // A follower that throws has a bug; the other followers still need the next block.
    broken(error) {
      for (const follower of followers.all) follower.broken(error)
    },
  })

  let unsubscribed = Promise.resolve()

  async function poll(): Promise<void> {
    const before = chain.tip?.number ?? -1
    try {
      await tick.run(loop)
    } finally {
      const now = chain.tip?.number ?? -1
      feed.polled(now > before ? now : undefined, chain.arrivals.steadyMs)
    }
  }

  return {
    follow: followers.follow,
    watch(hash, follower) {
      followers.watch(hash, follower)
      if (pacing.startFastPolling(followers.watched) && loop.planned) loop.plan()
    },
    unwatch: followers.unwatch,
    sent() {
      if (pacing.sent()) loop.lookNow()
      else loop.plan()
    },
    lookNow: loop.lookNow,
    plan: loop.plan,
    wake: loop.wake,
    nextTick: loop.nextTick,
    onHead: loop.onHead,
    replayPending: tick.replayPending,
    onReaderChanged() {
      tick.elsewhere()
      pacing.elsewhere()
      chain.elsewhere()
      feed.elsewhere()
      loop.wake()
    },
    requireChainCheck: tick.requireChainCheck,
    onNewestBlock: chain.onNewestBlock,
    observe(blockNumber, hashes) {
      for (const [follower, own] of followers.ownOf(hashes, 0)) follower.observed(blockNumber, own)
    },
    get head() {
      return chain.tip
    },
    get newest() {
      return chain.newest
    },
    get isBehind() {
      return (chain.tip?.number ?? 0) < tick.shownTo
    },
    get tickedAt() {
      return tick.tickedAt
    },
    get headAtMs() {
      return chain.arrivals.headAtMs
    },
    tag: chain.tag,
    hashAt: chain.hashAt,
    reach: chain.reach,
    get blockMs() {
      return chain.arrivals.blockMs
    },
    get isAtRest() {
      return chain.arrivals.isAtRest
    },
    get stoodUpTo() {
      return chain.arrivals.stoodUpTo
    },
    stop() {
      loop.stop()
      unsubscribed = feed.stop()
    },
    get unsubscribed() {
      return unsubscribed
    },
  }
}
