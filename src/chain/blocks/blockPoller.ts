import type { Hash } from 'viem'
import { type Clock, type Moment, momentOf } from '../../platform/clock.js'
import { decodeHeader, headerCall, type LightHeader } from '../../rpc/codec.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import { type Arrivals, type ArrivalsOptions, createArrivals } from './arrivals.js'
import { createBeginning } from './beginning.js'
import { type Advance, createWalk, type FetchBlocks } from './chainWalk.js'
import { createCounting } from './counting.js'
import type { Follower, SealedBlock } from './follower.js'
import { createLoop, type Loop } from './loop.js'
import { createPacing } from './pacing.js'
import { standingAt } from './shown.js'
import { createTags, type TagWanted } from './tags.js'
import { decoded, isUnanswered, type Part, sealedOf } from './tickParts.js'

/**
 * The one poller of a chain and endpoint, however many lanes, keys and transactions. A tick is one request; its
 * cost follows the transactions that are new in the chain, not those in flight.
 */
export type Tracker = Pick<Loop, 'wake' | 'nextTick' | 'onHead'> &
  Pick<Arrivals, 'headAtMs' | 'blockMs' | 'isAtRest'> & {
    follow(follower: Follower): () => void
    /**
     * A new transaction is on its way: looks now, or as soon as the look under way is done, unless the chain makes no
     * block for it before its time.
     */
    sent(): void
    /** What is known may be old: looks now. */
    lookNow(): void
    /** What a follower waits for is another: plans the next look anew. */
    plan(): void
    /** Tells `follower` of this hash when a block holds it. One follower a hash: a hash is one account's. */
    watch(hash: Hash, follower: Follower): void
    unwatch(hash: Hash): void
    /** Tells what stands in the pending block once more at the next tick: what it means may have changed. */
    lookAgain(): void
    /** Another endpoint is read from the next tick on: what was said of the former one does not go for it. */
    readElsewhere(): void
    /** The endpoint may be on another chain: the next tick is believed only if it is not. */
    doubt(): void
    /** The newest block of a reading that was made before the walk began. */
    saw(block: LightHeader): void
    /** Hashes that somebody else's feed saw pre-confirmed. */
    observe(blockNumber: number, hashes: readonly Hash[]): void
    readonly head: SealedBlock | undefined
    /** The head, or before it joined the newest block that was seen: it says what the next one is like, and no more. */
    readonly newest: SealedBlock | undefined
    /** The endpoint shows a newer block than the head, or one before the walk began: there are blocks that are not walked yet. */
    readonly isBehind: boolean
    /** When a tick last brought a head. */
    readonly tickedAt: Moment | undefined
    /** Highest block seen under a tag; `'absent'` where the endpoint does not have the tag. */
    tag(tag: 'safe' | 'finalized'): number | 'absent' | undefined
    hashAt(number: number): Hash | undefined
    /** Asks for `hashAt` of a block below where the walk began. False for one too far back to be of interest. */
    reach(number: number): boolean
    stop(): void
  }

export type TrackerOptions = ArrivalsOptions & {
  /** The one that is read now. A tick that comes back after it has changed is not told. */
  readonly port: () => Port
  /**
   * Asked beside what comes first, or from an endpoint that was away, and beside blocks that had to be fetched: no
   * block of another chain may look like ours, or like a reorg.
   */
  readonly identity?: {
    readonly calls: readonly RpcCall[]
    /** Undefined where they say nothing. */
    holds(replies: readonly RpcReply[]): boolean | undefined
  }
  /** The endpoint that is read is on another chain. */
  readonly onStranger?: () => void
  /** The other endpoints that may be asked whether they still show a block. */
  readonly others?: () => readonly Port[]
  /** The chain is shorter than it was: `left` walked blocks up to `tip` have left it, and its newest is `head`. */
  readonly onReset?: (reset: { readonly tip: number; readonly head: number; readonly left: number }) => void
  /** What a tick has come to; `tookMs` until its answer was there. */
  readonly onTick?: (brought: boolean, tookMs: number) => void
  readonly clock: Clock
  /** Milliseconds between polls at `cadence`. */
  readonly cadenceMs: () => number
  /**
   * Whether `pending` is worth reading: the pending block, and the count at pending; and whether that block is made
   * anew at the cadence, so that it is worth looking right after that.
   */
  readonly pending: () => { block: boolean; count: boolean; paced: boolean }
  /** What the tick's own reads tell about the endpoint. `head`: the highest that is known or claimed. */
  readonly onPendingBlock?: (block: LightHeader | null | 'refused', latest: SealedBlock, head: number) => void
  readonly timeoutMs: number
  readonly horizon: number
}

const POLL = { priority: 'poll', together: true } as const
/** For how many looks, and block periods, an endpoint may be below the tip before that is looked into. */
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
    // A follower that throws has a bug; the others still want to know of the next block.
    broken(error) {
      for (const follower of followers) follower.broken(error)
    },
  })
  let failures = 0
  // Looks in a row that brought a head, and in which a call had no answer.
  let incomplete = 0
  // Its first head has nothing to be linked to.
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

  // --- one tick: what is asked -------------------------------------------------------------------------------

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
   * The replies; none from an endpoint that is not sure to be on our chain, and does not show that it is. It is asked
   * before and after: one that comes back in the middle of a batch is ours at its end alone.
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

  // --- one tick: what is told --------------------------------------------------------------------------------

  async function tell(answer: {
    port: Port
    latest: SealedBlock | undefined
    pending: LightHeader | null | 'refused' | undefined
    told: readonly ((head: number) => void)[]
    replies: readonly RpcReply[]
    /** It showed that it is on our chain. */
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
    // The blocks are linked to ours, whoever showed them; the rest is the word of one that is not read any more.
    if (port !== options.port()) return
    const head = walk.tip?.number ?? latest.number
    // A head that does not join is no block of ours. What lies below it is above no head all the same.
    const claimed = Math.max(head, latest.number)
    if (pending !== undefined) options.onPendingBlock?.(pending, latest, claimed)
    const hasPending = pending ? tellPending(pending, claimed) : false
    for (const tellCounts of told) tellCounts(head)
    const newHead = (moved?.came.length ?? 0) > 0
    // One that does not join, or lags, says nothing of when the next block comes.
    if (walk.tip?.hash === latest.hash) pacing.headed(latest, newHead)
    const look = { askedAtMs, hasPending, refreshes: pacing.refreshes }
    for (const follower of followers) await follower.ticked(newHead, look)
    loop.brought(newHead)
  }

  /**
   * A reader below the tip lags, or its chain was cut back: that is looked into once it has stood for three periods, and
   * believed where no endpoint shows the tip any more.
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
    // Another block there shows that the chain is as long as before: what the reader calls its newest is not.
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

  /** Only what was added since the last look at the same pending block is looked up. False where it says nothing. */
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
