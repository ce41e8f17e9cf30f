import type { Hash } from 'viem'
import { type Clock, type Moment, momentOf } from '../clock.js'
import { decodeHeader, headerCall, type LightHeader } from '../rpc/codec.js'
import type { Port, RpcCall, RpcReply } from '../rpc/port.js'
import { type Arrivals, type ArrivalsOptions, createArrivals } from './arrivals.js'
import { createBeginning } from './beginning.js'
import { createCounting } from './counting.js'
import type { Follower, SealedBlock } from './follower.js'
import { createLoop, type Loop } from './loop.js'
import { createPacing } from './pacing.js'
import { standingAt } from './shown.js'
import { createTags, type TagWanted } from './tags.js'
import { decoded, isUnanswered, type Part, sealedOf } from './tickParts.js'
import { type Advance, createWalk, type FetchBlocks } from './walk.js'

/**
 * The single poller of a chain and endpoint, for any number of lanes, keys and transactions. A tick is one
 * request. Its cost depends on the transactions that are new in the chain, not on those in flight.
 */
export type Tracker = Pick<Loop, 'wake' | 'nextTick' | 'onHead'> &
  Pick<Arrivals, 'headAtMs' | 'blockMs' | 'isAtRest'> & {
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
    lookAgain(): void
    /**
     * Another endpoint is read from the next tick on: observations about the former endpoint do not apply to
     * it.
     */
    readElsewhere(): void
    /** The endpoint may be on another chain: the next tick is believed only if it proves the opposite. */
    doubt(): void
    /** Reports the newest block of a reading that was made before the walk began. */
    saw(block: LightHeader): void
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
  }

export type TrackerOptions = ArrivalsOptions & {
  /** The endpoint that is read now. The results of a tick are dropped if this changes during the tick. */
  readonly port: () => Port
  /**
   * Calls that identify the chain. They are sent with the first request to an endpoint, with the first one
   * after a failure, and with blocks that had to be fetched: no block of another chain may look like ours, or
   * like a reorg.
   */
  readonly identity?: {
    readonly calls: readonly RpcCall[]
    /** Undefined if the replies prove nothing. */
    holds(replies: readonly RpcReply[]): boolean | undefined
  }
  /** The endpoint that is read is on another chain. */
  readonly onStranger?: () => void
  /** The other endpoints that can confirm whether they still have a block. */
  readonly others?: () => readonly Port[]
  /**
   * The chain is shorter than before: `left` walked blocks up to `tip` have left it, and its newest block is
   * `head`.
   */
  readonly onReset?: (reset: { readonly tip: number; readonly head: number; readonly left: number }) => void
  /** Reports whether a tick brought a head. `tookMs`: the time until its answer was there. */
  readonly onTick?: (brought: boolean, tookMs: number) => void
  readonly clock: Clock
  /** Milliseconds between polls at `cadence`. */
  readonly cadenceMs: () => number
  /**
   * `block`, `count`: whether the pending block and the count at `pending` are worth reading. `paced`: the
   * pending block is rebuilt at the cadence, so that a poll right after it is worthwhile.
   */
  readonly pending: () => { block: boolean; count: boolean; paced: boolean }
  /** Reports an observation about the endpoint. `head`: the highest block that is known or claimed. */
  readonly onPendingBlock?: (block: LightHeader | null | 'refused', latest: SealedBlock, head: number) => void
  readonly timeoutMs: number
  readonly horizon: number
}

const POLL = { priority: 'poll', together: true } as const
/**
 * The number of polls and of block periods for which an endpoint may be below the tip before that is
 * investigated.
 */
const BELOW_LOOKS = 3
const BELOW_PERIODS = 3
const PERIOD_MS_DEFAULT = 2_000
const PERIOD_MS_MAX = 12_000

export function createTracker(options: TrackerOptions): Tracker {
  const { clock, identity, timeoutMs } = options
  const followers = new Set<Follower>()
  const watched = new Map<Hash, Follower>()
  const walk = createWalk({ length: options.horizon * 2 + 16 })
  const beginning = createBeginning(walk)
  const pacing = createPacing({
    clock,
    cadenceMs: options.cadenceMs,
    refreshes: () => options.pending().paced,
  })
  const arrivals = createArrivals(options)
  const counting = createCounting(followers, () => walk.tip?.hash, clock)
  const tags = createTags(tagWanted, walk, clock)
  const loop = createLoop({
    clock,
    tick,
    paces: () => [...followers].map(counting.paceOf),
    next: (paces) => pacing.next(paces, { failures, incomplete }, arrivals),
    // A follower that throws has a bug; the other followers still need the next block.
    broken(error) {
      for (const follower of followers) follower.broken(error)
    },
  })
  let failures = 0
  // Consecutive polls that brought a head, but lacked the answer to another call.
  let incomplete = 0
  // The first head of an endpoint has no known block to link to.
  let doubted = true
  let tickedAt: Moment | undefined
  // The number of the newest block that the endpoint showed last.
  let shownTo = 0
  // The endpoint shows an older head than the tip.
  let below: { readonly sinceMs: number; looks: number } | undefined
  let seen = { number: -1, count: 0, last: undefined as Hash | undefined }

  function tagWanted(tag: 'safe' | 'finalized'): TagWanted {
    const wants = new Set([...followers].map((follower) => follower.tags()[tag]))
    return (['now', 'sometime'] as const).find((want) => wants.has(want)) ?? 'never'
  }

  // --- one tick: the requests
  // ----------------------------------------------------------------------------------

  async function tick(): Promise<void> {
    const port = options.port()
    const startedMs = clock.now()
    pacing.began()
    let latest: SealedBlock | undefined
    let pending: LightHeader | null | 'refused' | undefined
    const told: ((head: number) => void)[] = []
    const parts: Part[] = [
      {
        call: headerCall('latest'),
        take: (reply) => {
          latest = sealedOf(decoded(reply, decodeHeader))
        },
      },
    ]
    const wants = options.pending()
    if (wants.block) {
      parts.push({
        call: headerCall('pending'),
        take: (reply) => {
          pending = reply.ok
            ? decoded(reply, decodeHeader)
            : reply.failure.kind === 'rpc'
              ? 'refused'
              : undefined
        },
      })
    }
    parts.push(...counting.parts(wants.count, told))
    const sure = failures === 0 && !doubted
    parts.push(
      ...beginning.parts(failures === 0 && doubted),
      ...tags.parts(walk.tip?.number ?? -1),
      ...arrivals.parts(),
    )
    const asked = parts.map((part) => part.call)
    const replies = await askOf(port, asked, sure)
    if (loop.stopped || port !== options.port()) return
    if (replies === undefined) failed([])
    else {
      doubted = false
      for (const [index, part] of parts.entries()) if (replies[index]) part.take(replies[index])
      incomplete = replies.some(isUnanswered) ? incomplete + 1 : 0
      if (pending && pending !== 'refused') pacing.saw(pending)
      const shown = !sure || identity === undefined
      await tell({ port, latest, pending, told, replies, shown, askedAtMs: startedMs })
    }
    options.onTick?.(failures === 0, clock.now() - startedMs)
  }

  /**
   * The replies; undefined if the endpoint is not known to be on our chain, and does not prove that it is.
   * The identity is read before and after the calls: an endpoint that returns to our chain in the middle of a
   * batch is only right at the end.
   */
  async function askOf(port: Port, calls: readonly RpcCall[], sure: boolean) {
    const around = sure || identity === undefined ? [] : identity.calls
    const replies = await port.batch([...around, ...calls, ...around], { ...POLL, timeoutMs })
    if (identity === undefined || around.length === 0) return replies
    const end = around.length + calls.length
    const holds = [replies.slice(0, around.length), replies.slice(end)].map(identity.holds)
    if (holds.includes(false)) options.onStranger?.()
    return holds.every(Boolean) ? replies.slice(around.length, end) : undefined
  }

  // --- one tick: the reports
  // -----------------------------------------------------------------------------------

  async function tell(answer: {
    port: Port
    latest: SealedBlock | undefined
    pending: LightHeader | null | 'refused' | undefined
    told: readonly ((head: number) => void)[]
    replies: readonly RpcReply[]
    /** The endpoint proved that it is on our chain. */
    shown: boolean
    askedAtMs: number
  }): Promise<void> {
    const { port, latest, pending, told, replies, askedAtMs } = answer
    if (latest === undefined) return failed(replies)
    failures = 0
    tickedAt = momentOf(clock)
    arrivals.looked()
    shownTo = latest.number
    const known = walk.tip !== undefined
    const moved = await joined(latest, (...asked) => fetchBlocks(port, ...asked))
    if (loop.stopped) return
    if (!tags.answered(moved, answer.shown)) doubted = true
    if (moved !== undefined) {
      for (const block of moved.left) for (const follower of followers) follower.left(block)
      for (const block of moved.came) {
        const own = ownOf(block.hashes, 0)
        for (const follower of followers) await follower.sealed(block, own.get(follower) ?? [])
      }
      if (loop.stopped) return
      arrivals.came(moved.came, known && !moved.jumped)
    }
    // The blocks are linked to ours, whichever endpoint showed them. All other results come from an endpoint
    // that is no longer read.
    if (port !== options.port()) return
    const head = walk.tip?.number ?? latest.number
    // A head that does not join is not one of our blocks. A pending block below it is still not above the
    // chain's head.
    const claimed = Math.max(head, latest.number)
    if (pending !== undefined) options.onPendingBlock?.(pending, latest, claimed)
    const hasPending = pending ? tellPending(pending, claimed) : false
    for (const tellCounts of told) tellCounts(head)
    const newHead = (moved?.came.length ?? 0) > 0
    // A head that does not join, or lags, does not predict the next block.
    if (walk.tip?.hash === latest.hash) pacing.headed(latest, newHead)
    const look = { askedAtMs, hasPending, refreshes: pacing.refreshes }
    for (const follower of followers) await follower.ticked(newHead, look)
    loop.brought(newHead)
  }

  /**
   * An endpoint below the tip lags, or its chain was cut back. That is investigated once it has lasted for
   * three periods, and believed if no endpoint shows the tip any more.
   */
  async function joined(latest: SealedBlock, fetch: FetchBlocks): Promise<Advance | undefined> {
    const tip = walk.tip
    if (tip === undefined || latest.number >= tip.number) {
      below = undefined
      return beginning.advance(latest, fetch)
    }
    const nowMs = clock.now()
    below ??= { sinceMs: nowMs, looks: 0 }
    below.looks++
    const stands =
      below.looks > BELOW_LOOKS &&
      nowMs - below.sinceMs >= BELOW_PERIODS * Math.min(PERIOD_MS_MAX, arrivals.blockMs ?? PERIOD_MS_DEFAULT)
    if (!stands) return walk.advance(latest, fetch)
    below = undefined
    const standing = await standingAt([options.port(), ...(options.others?.() ?? [])], tip, timeoutMs)
    // Another block at that height shows that the chain is as long as before: the endpoint's newest block is
    // not the newest of the chain.
    if (standing !== 'none') return walk.advance(typeof standing === 'object' ? standing : latest, fetch)
    const moved = await walk.rewind(latest, fetch)
    if (moved) options.onReset?.({ tip: tip.number, head: latest.number, left: moved.left.length })
    return moved
  }

  function failed(replies: readonly RpcReply[]): void {
    failures++
    const first = replies[0]
    const why = first === undefined || first.ok ? 'no block that agrees with itself' : first.failure.message
    for (const follower of followers) follower.unreachable(why)
  }

  /**
   * Looks up only the hashes that were added since the last poll of the same pending block. Returns false if
   * the block gives no information.
   */
  function tellPending(block: LightHeader | 'refused', head: number): boolean {
    if (block === 'refused') return false
    const number = block.number ?? head + 1
    // A pending block that is not above the head is a stale answer: it pre-confirms nothing.
    if (number <= head) return false
    const same = number === seen.number && block.hashes[seen.count - 1] === seen.last && seen.count > 0
    const from = same ? seen.count : 0
    seen = { number, count: block.hashes.length, last: block.hashes[block.hashes.length - 1] }
    for (const [follower, own] of ownOf(block.hashes, from)) {
      pacing.calm()
      follower.preconfirmed(number, own)
    }
    return true
  }

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

  async function fetchBlocks(
    port: Port,
    ...[numbers, how]: Parameters<FetchBlocks>
  ): ReturnType<FetchBlocks> {
    const calls = numbers.map(headerCall)
    const replies = await askOf(port, calls, how === 'linked')
    if (replies === undefined || port !== options.port()) return undefined
    const blocks = replies.map((reply) => sealedOf(decoded(reply, decodeHeader)))
    return blocks.every((block, index) => block?.number === numbers[index])
      ? (blocks as SealedBlock[])
      : undefined
  }

  function lookAgain(): void {
    seen = { number: -1, count: 0, last: undefined }
  }

  return {
    follow(follower) {
      followers.add(follower)
      return () => {
        followers.delete(follower)
      }
    },
    watch(hash, follower) {
      watched.set(hash, follower)
      if (pacing.keen(watched.size) && loop.planned) loop.plan()
    },
    unwatch: (hash) => void watched.delete(hash),
    sent() {
      if (pacing.sent()) loop.lookNow()
      else loop.plan()
    },
    lookNow: loop.lookNow,
    plan: loop.plan,
    wake: loop.wake,
    nextTick: loop.nextTick,
    onHead: loop.onHead,
    lookAgain,
    readElsewhere() {
      lookAgain()
      pacing.elsewhere()
      failures = 0
      incomplete = 0
      shownTo = 0
      tags.elsewhere()
      arrivals.elsewhere()
      loop.wake()
    },
    doubt() {
      doubted = true
    },
    saw: beginning.saw,
    observe(blockNumber, hashes) {
      for (const [follower, own] of ownOf(hashes, 0)) follower.observed(blockNumber, own)
    },
    get head() {
      return walk.tip
    },
    get newest() {
      return walk.tip ?? beginning.block
    },
    get isBehind() {
      return (walk.tip?.number ?? 0) < shownTo
    },
    get tickedAt() {
      return tickedAt
    },
    get headAtMs() {
      return arrivals.headAtMs
    },
    tag: tags.get,
    hashAt: walk.hashAt,
    reach: walk.reach,
    get blockMs() {
      return arrivals.blockMs
    },
    get isAtRest() {
      return arrivals.isAtRest
    },
    stop: loop.stop,
  }
}
