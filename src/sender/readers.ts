import type { Clock } from '../clock.js'
import { batchReads } from '../rpc/batchReads.js'
import { decodeHeader, headerCall, type LightHeader } from '../rpc/codec.js'
import type { RpcCall, RpcReply } from '../rpc/port.js'
import type { PendingSemantics } from '../rpc/profile.js'
import type { Tracker } from '../tracker/tracker.js'
import type { EndpointEvent, Limits } from '../types.js'
import type { HubEndpoint } from './hub.js'
import type { Prober } from './probing.js'

/**
 * Which endpoint is read, and when another takes its place. One is read for as long as it is well: it changes only
 * after it was bad for a while, to one that knows the blocks that were walked, and not back as soon as the former one
 * is well again. What they show is compared beside the ticks, with a request each now and then; there is no timer, so
 * that nobody is asked anything while nobody wants to know.
 */
export type Readers = {
  readonly current: HubEndpoint
  /** A tick of the current one is over. */
  ticked(brought: boolean, tookMs: number): void
  /** The current one shows another chain. */
  strange(): void
  stop(): void
}

/** What was seen of one of them. */
type Health = {
  /** Looks in a row that brought an answer, and that did not. */
  good: number
  bad: number
  goodSinceMs: number
  /** Whether it has the newest block that was walked: another one at its number, or none yet. */
  tip: 'same' | 'behind' | 'other' | undefined
  /** Its newest block; and whether it shows one that stands on the newest that was walked. */
  head: number
  above: boolean
  tookMs: number
  /** Not to be read before this time, unless there is no other. */
  shunnedUntilMs: number
  shunned: number
}

const LOOK_MS = 10_000
const LOOK_MS_DOUBTFUL = 1_000
const LOOK_TIMEOUT_MS = 2_000
/** Ticks in a row that brought nothing, or the time that they took. */
const FAILED_TICKS = 3
const SILENT_MS = 4_000
/** How far behind, in blocks and in time, and for how many looks. */
const LAG_BLOCKS = 3
const LAG_MS = 3_000
const LAG_LOOKS = 2
const SLOW_MS = 1_000
const SLOW_FACTOR = 5
/** For how long another one has to be better before it is read for that alone. */
const CALM_MS = 60_000
const SHUN_MS = 30_000
const SHUN_MS_MAX = 600_000
/** Looks without an answer after which it is told. */
const DOWN_LOOKS = 3
const BLOCK_MS_DEFAULT = 2_000

export function createReaders(parts: {
  readonly endpoints: readonly HubEndpoint[]
  readonly tracker: () => Tracker
  readonly prober: Prober
  readonly clock: Clock
  readonly limits: Limits
  readonly tell: (endpoint: HubEndpoint, change: EndpointEvent['change']) => void
}): Readers | undefined {
  const { tracker, prober, clock, limits, tell } = parts
  const all = parts.endpoints.filter(({ role }) => role !== 'send')
  const [first] = all.filter(({ probed }) => probed).sort((a, b) => rank(b) - rank(a))
  if (first === undefined) return undefined
  const healths = new Map(all.map((endpoint) => [endpoint, newHealth()]))
  const alone = all.length === 1
  let current: HubEndpoint = first
  let failures = 0
  let failingSinceMs = 0
  let slowMs = 0
  let tipNumber = -1
  let tipSinceMs = clock.now()
  let lagged = 0
  let betterSinceMs: number | undefined
  let lookedMs = clock.now()
  let looking = false
  let stopped = false

  const of = (endpoint: HubEndpoint) => healths.get(endpoint) as Health
  const blockMs = () => tracker().blockMs ?? BLOCK_MS_DEFAULT

  function ticked(brought: boolean, tookMs: number): void {
    const now = clock.now()
    if (failures === 0) failingSinceMs = now - tookMs
    failures = brought ? 0 : failures + 1
    slowMs = slowMs * 0.75 + tookMs * 0.25
    const tip = tracker().head?.number ?? -1
    if (tip !== tipNumber) tipSinceMs = now
    tipNumber = tip
    if (alone || looking || now - lookedMs < (doubtful(now) ? LOOK_MS_DOUBTFUL : LOOK_MS)) return
    void look()
  }

  function doubtful(now: number): boolean {
    const stands = now - tipSinceMs > Math.max(LAG_MS, LAG_BLOCKS * blockMs())
    return failures > 0 || lagged > 0 || stands || !current.probed || slowMs > SLOW_MS
  }

  // --- what they show ------------------------------------------------------------------------------------------

  async function look(): Promise<void> {
    looking = true
    lookedMs = clock.now()
    // That the current one does not answer is known from its ticks: nobody waits for it once more.
    const asked = all.filter(
      (one) => one.probed && one.restUntilMs <= lookedMs && !(one === current && failures > 0),
    )
    await Promise.all(asked.map(lookAt))
    looking = false
    if (!stopped) await decide(asked)
  }

  async function lookAt(endpoint: HubEndpoint): Promise<void> {
    const health = of(endpoint)
    const tip = tracker().head
    const startedMs = clock.now()
    const beside = tip === undefined ? [] : [headerCall(tip.number), headerCall(tip.number + 1)]
    const calls: RpcCall[] = [headerCall('latest'), ...beside, ...prober.identity.calls]
    const { profile } = endpoint
    const timeoutMs = Math.min(LOOK_TIMEOUT_MS, limits.readTimeoutMs)
    const replies = await batchReads(endpoint.port, calls, { profile, timeoutMs })
    if (stopped) return
    const chain = prober.identity.read(replies.slice(-prober.identity.calls.length))
    if (chain === 'other') return leaveOut(endpoint)
    const latest = headerOf(replies[0])
    if (chain === 'unknown' || latest?.number === undefined || latest.number === null) return missed(endpoint)
    const [at, above] = tip === undefined ? [] : [headerOf(replies[1]), headerOf(replies[2])]
    health.head = latest.number
    health.tookMs = clock.now() - startedMs
    health.above = tip !== undefined && above?.parentHash === tip.hash
    health.tip = tip && (at === undefined ? 'behind' : at.hash === tip.hash ? 'same' : 'other')
    if (health.good++ === 0) health.goodSinceMs = clock.now()
    if (health.bad >= DOWN_LOOKS && endpoint !== current) tell(endpoint, 'up')
    health.bad = 0
  }

  function missed(endpoint: HubEndpoint): void {
    const health = of(endpoint)
    health.good = 0
    health.bad++
    if (health.bad === DOWN_LOOKS && endpoint !== current) tell(endpoint, 'down')
  }

  /** Nothing is sent to it or believed of it until it shows our chain again. */
  function leaveOut(endpoint: HubEndpoint): void {
    if (!endpoint.probed) return
    endpoint.probed = false
    of(endpoint).good = 0
    tell(endpoint, 'wrongChain')
    prober.again()
    if (endpoint === current) tracker().doubt()
  }

  // --- what follows from it ------------------------------------------------------------------------------------

  async function decide(asked: readonly HubEndpoint[]): Promise<void> {
    const now = clock.now()
    const others = asked.filter((one) => one !== current && one.probed && of(one).good > 0)
    const gone =
      !current.probed || failures >= FAILED_TICKS || (failures > 0 && now - failingSinceMs >= SILENT_MS)
    const bad = gone || isBehind(others) || isSlow(others)
    const known = others.filter((one) => of(one).tip === 'same' || tracker().head === undefined)
    const best = bestOf(known, now, bad)
    if (bad) {
      const next = best ?? (gone ? await onAnotherFork(others) : undefined)
      if (next !== undefined && !stopped) readFrom(next, true)
      return
    }
    const better = best !== undefined && rank(best) > rank(current)
    if (!better) betterSinceMs = undefined
    else betterSinceMs ??= now
    const calm = Math.max(betterSinceMs ?? now, best ? of(best).goodSinceMs : now)
    if (better && now - calm >= CALM_MS) readFrom(best, false)
  }

  /** The head that an endpoint claims is worth nothing: it has to show the block above ours. */
  function isBehind(others: readonly HubEndpoint[]): boolean {
    const least = Math.max(LAG_BLOCKS, Math.ceil(LAG_MS / blockMs()))
    const tip = tracker().head?.number ?? 0
    const ahead = others.some((one) => of(one).above && of(one).tip === 'same' && of(one).head - tip >= least)
    lagged = ahead ? lagged + 1 : 0
    return lagged >= LAG_LOOKS
  }

  function isSlow(others: readonly HubEndpoint[]): boolean {
    return slowMs > SLOW_MS && others.some((one) => of(one).tookMs * SLOW_FACTOR < slowMs)
  }

  function bestOf(able: readonly HubEndpoint[], now: number, bad: boolean): HubEndpoint | undefined {
    const free = able.filter((one) => of(one).shunnedUntilMs <= now)
    const chosen = free.length === 0 && bad ? able : free
    return [...chosen].sort((a, b) => rank(b) - rank(a) || of(a).tookMs - of(b).tookMs)[0]
  }

  /**
   * The one that was read is gone, and what it showed last is not on the chain of the others: a reorg, as one
   * endpoint alone would show it. It counts only from a chain that is longer than ours and stands on a block of it.
   */
  async function onAnotherFork(others: readonly HubEndpoint[]): Promise<HubEndpoint | undefined> {
    const tip = tracker().head
    if (tip === undefined) return undefined
    const numbers: number[] = []
    for (let below = 1; below <= limits.reorgHorizon && below < tip.number; below *= 2)
      if (tracker().hashAt(tip.number - below) !== undefined) numbers.push(tip.number - below)
    for (const one of others.filter((each) => of(each).tip === 'other' && of(each).head > tip.number)) {
      const replies = await one.port.batch(numbers.map(headerCall), { timeoutMs: limits.readTimeoutMs })
      const shared = numbers.some((number, index) => {
        const hash = headerOf(replies[index])?.hash
        return hash !== undefined && hash !== null && hash === tracker().hashAt(number)
      })
      if (shared) return one
    }
    return undefined
  }

  function readFrom(next: HubEndpoint, bad: boolean): void {
    const former = current
    if (bad) shun(former)
    current = next
    failures = 0
    lagged = 0
    slowMs = 0
    betterSinceMs = undefined
    tipSinceMs = clock.now()
    if (bad && former.probed) tell(former, 'down')
    tell(next, 'reader')
    tracker().readElsewhere()
  }

  /** The more often it failed, the longer it is passed over. */
  function shun(endpoint: HubEndpoint): void {
    const health = of(endpoint)
    health.shunnedUntilMs = clock.now() + Math.min(SHUN_MS_MAX, SHUN_MS * 2 ** health.shunned++)
    health.bad = DOWN_LOOKS
  }

  return {
    get current() {
      return current
    },
    ticked,
    strange() {
      leaveOut(current)
    },
    stop() {
      stopped = true
    },
  }
}

function newHealth(): Health {
  return {
    good: 0,
    bad: 0,
    goodSinceMs: 0,
    tip: undefined,
    head: 0,
    above: false,
    tookMs: 0,
    shunnedUntilMs: 0,
    shunned: 0,
  }
}

/** What is told soonest, and of the most, is read. */
function rank({ profile }: HubEndpoint): number {
  return RANKS[profile.current().pending]
}

const RANKS: Readonly<Record<PendingSemantics, number>> = {
  preconfirmed: 3,
  mempool: 2,
  unknown: 1,
  latest: 1,
  absent: 0,
}

function headerOf(reply: RpcReply | undefined): LightHeader | undefined {
  if (!reply?.ok) return undefined
  try {
    return decodeHeader(reply.result) ?? undefined
  } catch {
    return undefined
  }
}
