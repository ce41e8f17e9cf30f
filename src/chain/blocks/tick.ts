import type { Hash } from 'viem'
import { type Clock, type Moment, momentOf } from '../../platform/clock.js'
import { decodeHeader, headerCall, type LightHeader } from '../../rpc/codec.js'
import type { Port, RpcReply } from '../../rpc/port.js'
import type { ChainReader } from './chainReader.js'
import type { ChainView } from './chainView.js'
import type { Counting } from './counting.js'
import type { FollowerSet, SealedBlock } from './follower.js'
import type { Loop } from './loop.js'
import type { Missed, Pacing } from './pacing.js'
import { decoded, isUnanswered, type Part, sealedOf } from './tickParts.js'

export type TickOptions = {
  readonly clock: Clock
  /** The endpoint that is read now. The results of a tick are dropped if this changes during the tick. */
  readonly port: () => Port
  /** Reports whether a tick brought a head. `tookMs`: the time until its answer was there. */
  readonly onTick?: (brought: boolean, tookMs: number) => void
  /**
   * `block`, `count`: whether the pending block and the count at `pending` are worth reading. `paced`: the
   * pending block is rebuilt at the cadence, so that a poll right after it is worthwhile.
   */
  readonly pending: () => { block: boolean; count: boolean; paced: boolean }
  /** Reports an observation about the endpoint. `head`: the highest block that is known or claimed. */
  readonly onPendingBlock?: (block: LightHeader | null | 'refused', latest: SealedBlock, head: number) => void
}

/** One request to the endpoint, and the reports of its answer to the followers. */
type Tick = Missed & {
  run(loop: LoopState): Promise<void>
  /** When a tick last brought a head. */
  readonly tickedAt: Moment | undefined
  /** The number of the newest block that the endpoint showed last. */
  readonly shownTo: number
  /** The endpoint may be on another chain: the next tick is believed only if it proves the opposite. */
  requireChainCheck(): void
  /** Reports the contents of the pending block again. */
  replayPending(): void
  /** Another endpoint is read from now on. */
  elsewhere(): void
}

/** The blocks in the answer to a tick, and the reports of its counts, which follow those of the blocks. */
type Answer = {
  latest: SealedBlock | undefined
  pending: LightHeader | null | 'refused' | undefined
  readonly reports: ((head: number) => void)[]
}

/** When a tick was sent and read. */
type Sent = { readonly port: Port; readonly askedAtMs: number; readonly readMs: number }

type TickParts = {
  readonly options: TickOptions
  readonly reader: ChainReader
  readonly chain: ChainView
  readonly followers: FollowerSet
  readonly counting: Counting
  readonly pacing: Pacing
}

/** The first call of a tick reads the newest block. */
const NEEDED = 1

type LoopState = Pick<Loop, 'stopped' | 'brought'>

export function createTick({ options, reader, chain, followers, counting, pacing }: TickParts): Tick {
  const { clock } = options
  const pendingView = createPendingView()
  let failures = 0
  // Consecutive polls that brought a head, but lacked the answer to another call.
  let incomplete = 0
  // The first head of an endpoint has no known block to link to.
  let doubted = true
  let tickedAt: Moment | undefined
  let shownTo = 0

  async function run(loop: LoopState): Promise<void> {
    const port = options.port()
    const askedAtMs = pacing.onTickStart()
    const answer: Answer = { latest: undefined, pending: undefined, reports: [] }
    const wants = options.pending()
    const ofChain = chain.parts(failures === 0 && doubted)
    const trusted = failures === 0 && !doubted && !ofChain.needProof
    const parts = [
      ...blockParts(answer, wants.block),
      ...counting.parts(wants.count, answer.reports),
      ...ofChain.parts,
    ]
    const calls = parts.map((part) => part.call)
    const replies = await reader.ask(port, calls, trusted, NEEDED)
    const readMs = pacing.onTickAnswer()
    if (loop.stopped || port !== options.port()) return
    if (replies === undefined) failed([])
    else {
      doubted = false
      for (const [index, part] of parts.entries()) if (replies[index]) part.take(replies[index])
      incomplete = replies.some(isUnanswered) ? incomplete + 1 : 0
      if (answer.pending && answer.pending !== 'refused') pacing.onPendingBlock(answer.pending)
      if (answer.latest === undefined) failed(replies)
      else {
        await report(loop, answer.latest, answer, { port, askedAtMs, readMs })
      }
    }
    options.onTick?.(failures === 0, clock.now() - askedAtMs)
  }

  async function report(
    loop: LoopState,
    latest: SealedBlock,
    { pending, reports }: Answer,
    { port, askedAtMs, readMs }: Sent,
  ): Promise<void> {
    failures = 0
    tickedAt = momentOf(clock)
    chain.arrivals.looked(readMs)
    shownTo = latest.number
    const known = chain.tip !== undefined
    const moved = await chain.advance(latest, reader.fetchFrom(port))
    if (loop.stopped) return
    chain.advanced(moved)
    if (moved !== undefined) {
      chain.arrivals.left(moved.left)
      await followers.moved(moved)
      if (loop.stopped) return
      const at = { seenMs: readMs, sinceMs: pacing.sinceMs(latest.number) }
      chain.arrivals.came(moved.came, known && !moved.jumped, at)
    }
    // The blocks are linked to ours, whichever endpoint showed them. All other results come from an endpoint
    // that is no longer read.
    if (port !== options.port()) return
    const head = chain.tip?.number ?? latest.number
    // A head that does not join is not one of our blocks. A pending block below it is still not above the
    // chain's head.
    const claimed = Math.max(head, latest.number)
    if (pending !== undefined) options.onPendingBlock?.(pending, latest, claimed)
    const added = pending && pending !== 'refused' ? pendingView.added(pending, claimed) : undefined
    if (added) preconfirmed(added)
    for (const reportCounts of reports) reportCounts(head)
    const newHead = (moved?.came.length ?? 0) > 0
    // A head that does not join, or lags, does not predict the next block.
    pacing.headed(chain.tip?.hash === latest.hash ? latest.number : undefined, newHead)
    const look = { askedAtMs, hasPending: added !== undefined, ...pacing.refreshes() }
    for (const follower of followers.all) await follower.ticked(newHead, look)
    loop.brought(newHead)
  }

  function preconfirmed({ number, hashes, from }: Added): void {
    for (const [follower, own] of followers.ownOf(hashes, from)) {
      pacing.stopFastPolling()
      follower.preconfirmed(number, own)
    }
  }

  function failed([first]: readonly RpcReply[]): void {
    failures++
    const why = first === undefined || first.ok ? 'no block that agrees with itself' : first.failure.message
    for (const follower of followers.all) follower.unreachable(why)
  }

  return {
    run,
    get failures() {
      return failures
    },
    get incomplete() {
      return incomplete
    },
    get tickedAt() {
      return tickedAt
    },
    get shownTo() {
      return shownTo
    },
    requireChainCheck() {
      doubted = true
    },
    replayPending: pendingView.forget,
    elsewhere() {
      pendingView.forget()
      failures = 0
      incomplete = 0
      shownTo = 0
    },
  }
}

function blockParts(answer: Answer, withPending: boolean): readonly Part[] {
  const latest: Part = {
    call: headerCall('latest'),
    take(reply) {
      answer.latest = sealedOf(decoded(reply, decodeHeader))
    },
  }
  if (!withPending) return [latest]
  const pending: Part = {
    call: headerCall('pending'),
    take(reply) {
      if (reply.ok) answer.pending = decoded(reply, decodeHeader)
      else answer.pending = reply.failure.kind === 'rpc' ? 'refused' : undefined
    },
  }
  return [latest, pending]
}

/** A pending block's hashes. The hashes from the index `from` on were added since the last poll of the same block. */
type Added = { readonly number: number; readonly hashes: readonly Hash[]; readonly from: number }

/** The pending block as polls have shown it, so that each of its hashes is looked up once. */
type PendingView = {
  /** Undefined if the block is not above the head: it is a stale answer, and pre-confirms nothing. */
  added(block: LightHeader, head: number): Added | undefined
  /** The next poll reports all hashes again. */
  forget(): void
}

const NOTHING_SEEN = { number: -1, count: 0, last: undefined as Hash | undefined }

function createPendingView(): PendingView {
  let seen = NOTHING_SEEN
  return {
    added({ number: named, hashes }, head) {
      const number = named ?? head + 1
      if (number <= head) return undefined
      const isSame = number === seen.number && hashes[seen.count - 1] === seen.last && seen.count > 0
      const from = isSame ? seen.count : 0
      seen = { number, count: hashes.length, last: hashes[hashes.length - 1] }
      return { number, hashes, from }
    },
    forget() {
      seen = NOTHING_SEEN
    },
  }
}
