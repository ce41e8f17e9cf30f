import type { Clock } from '../../platform/clock.js'
import { batchReads } from '../../rpc/batchReads.js'
import { headerCall } from '../../rpc/codec.js'
import type { RpcCall } from '../../rpc/port.js'
import type { EndpointEvent, Limits } from '../../types/index.js'
import type { Tracker } from '../blocks/blockPoller.js'
import { readBlock } from '../blocks/evidenceReads.js'
import type { PoolEndpoint } from './endpointPool.js'
import type { Prober } from './prober.js'

/**
 * Chooses the endpoint that is read. The reader changes only after it was bad for a while, to an endpoint that knows the
 * walked blocks, and it does not change back as soon as the former one is well again. The endpoints are compared during
 * ticks, with one request each now and then. There is no timer: without ticks there are no requests.
 */
export type EndpointSelector = {
  readonly current: PoolEndpoint
  /** A tick of the current endpoint is over. */
  ticked(brought: boolean, tookMs: number): void
  /** The current endpoint shows another chain. */
  onWrongChain(): void
  /** The other endpoints that may be read, the best first. */
  others(): readonly PoolEndpoint[]
  /** The answers of the current endpoint are contradicted: another one is read as soon as one is known to be well. */
  doubtReader(why: string): void
  stop(): void
}

const LOOK_MS = 10_000
const LOOK_MS_DOUBTFUL = 1_000
/**
 * An endpoint counts as failed after this number of consecutive ticks without an answer, or if such ticks go on for
 * this time.
 */
const FAILED_TICKS = 3
const SILENT_MS = 4_000
/** An endpoint lags if it is this far behind, in blocks and in time, for this number of looks. */
const LAG_BLOCKS = 3
const LAG_MS = 3_000
const LAG_LOOKS = 2
const SLOW_MS = 1_000
const SLOW_FACTOR = 5
/** Another endpoint has to be better for this time before it is read for that reason alone. */
const CALM_MS = 60_000
const SHUN_MS = 60_000
const BLOCK_MS_DEFAULT = 2_000

export function createEndpointSelector(parts: {
  readonly endpoints: readonly PoolEndpoint[]
  readonly tracker: () => Tracker
  readonly prober: Prober
  readonly clock: Clock
  readonly limits: Limits
  readonly report: (endpoint: PoolEndpoint, change: EndpointEvent['change'], reason?: string) => void
}): EndpointSelector | undefined {
  const { tracker, prober, clock, limits, report } = parts
  const all = parts.endpoints.filter(({ role }) => role !== 'send')
  const [first] = byRank(all.filter(({ probed }) => probed))
  if (first === undefined) return undefined
  const health = createEndpointHealth({ endpoints: all, tracker, prober, clock, limits })
  const { of } = health
  const alone = all.length === 1
  let current: PoolEndpoint = first
  let run = newRun()
  let lookedMs = clock.now()
  let looking = false
  let stopped = false
  const blockMs = () => tracker().blockMs ?? BLOCK_MS_DEFAULT

  function ticked(brought: boolean, tookMs: number): void {
    const now = clock.now()
    if (run.failures === 0) run.failingSinceMs = now - tookMs
    run.failures = brought ? 0 : run.failures + 1
    run.slowMs = run.slowMs * 0.75 + tookMs * 0.25
    if (alone || looking || now - lookedMs < (isSuspect(now) ? LOOK_MS_DOUBTFUL : LOOK_MS)) return
    void look()
  }

  function isSuspect(now: number): boolean {
    const stands = now - (tracker().headAtMs ?? now) > Math.max(LAG_MS, LAG_BLOCKS * blockMs())
    const { failures, lagged, slowMs, doubtedFor } = run
    const isBad = doubtedFor !== undefined || failures > 0 || lagged > 0 || slowMs > SLOW_MS
    return isBad || stands || !current.probed
  }

  async function look(): Promise<void> {
    looking = true
    lookedMs = clock.now()
    // The ticks show already that the current endpoint does not answer: it is not asked again.
    const asked = all.filter(
      (one) => one.probed && !one.gate.isBlocked && !(one === current && run.failures > 0),
    )
    const onOtherChain = (endpoint: PoolEndpoint) => !stopped && leaveOut(endpoint)
    await Promise.all(asked.map((endpoint) => health.look(endpoint, onOtherChain)))
    looking = false
    if (!stopped) decide(asked)
  }

  /** The endpoint gets no transactions, and its answers are ignored, until it shows our chain again. */
  function leaveOut(endpoint: PoolEndpoint): void {
    if (!endpoint.probed) return
    endpoint.probed = false
    of(endpoint).answers = false
    report(endpoint, 'wrongChain')
    prober.again()
    if (endpoint === current) tracker().requireChainCheck()
  }

  function decide(asked: readonly PoolEndpoint[]): void {
    const now = clock.now()
    const others = asked.filter((one) => one !== current && one.probed && of(one).answers)
    const gone = !current.probed || isFailing(run, now)
    const isSlow = run.slowMs > SLOW_MS && others.some((one) => of(one).tookMs * SLOW_FACTOR < run.slowMs)
    const bad = gone || run.doubtedFor !== undefined || isBehind(others) || isSlow
    // The reader is gone, and its last block with it: this is treated like a reorg of a single endpoint.
    const able = (tip: Health['tip']) =>
      chooseFrom(
        others.filter((one) => of(one).tip === tip),
        of,
        { now, bad },
      )
    const best = able('same') ?? (gone ? able('forked') : undefined)
    if (best && bad) return readFrom(best, true)
    run.betterSinceMs = best && rank(best) > rank(current) ? (run.betterSinceMs ?? now) : undefined
    if (best && now - (run.betterSinceMs ?? now) >= CALM_MS) readFrom(best, false)
  }

  /** A claimed head alone proves nothing: the endpoint has to show the block on top of ours. */
  function isBehind(others: readonly PoolEndpoint[]): boolean {
    const least = Math.max(LAG_BLOCKS, LAG_MS / blockMs())
    const tip = tracker().head?.number ?? 0
    const ahead = others.some((one) => of(one).above && of(one).tip === 'same' && of(one).head - tip >= least)
    run.lagged = ahead ? run.lagged + 1 : 0
    return run.lagged >= LAG_LOOKS
  }

  function readFrom(next: PoolEndpoint, bad: boolean): void {
    const former = current
    if (bad) {
      of(former).shunnedUntilMs = clock.now() + SHUN_MS
      if (former.probed) report(former, 'down')
    }
    current = next
    run = newRun()
    report(next, 'reader')
    tracker().onReaderChanged()
  }

  return {
    get current() {
      return current
    },
    ticked,
    onWrongChain() {
      leaveOut(current)
    },
    others: () => byRank(all.filter((one) => one !== current && one.probed && !one.gate.isBlocked)),
    doubtReader(why) {
      if (run.doubtedFor !== why) report(current, 'doubtful', why)
      run.doubtedFor = why
      if (!alone && !looking && !stopped) void look()
    },
    stop() {
      stopped = true
    },
  }
}

/** The state of the current endpoint since it was chosen. */
type Run = {
  failures: number
  failingSinceMs: number
  /** How long a tick takes, smoothed. */
  slowMs: number
  /** The number of consecutive looks that found the endpoint behind. */
  lagged: number
  betterSinceMs: number | undefined
  /** Why its answers are doubted. */
  doubtedFor: string | undefined
}

function newRun(): Run {
  return {
    failures: 0,
    failingSinceMs: 0,
    slowMs: 0,
    lagged: 0,
    betterSinceMs: undefined,
    doubtedFor: undefined,
  }
}

function isFailing({ failures, failingSinceMs }: Run, now: number): boolean {
  return failures >= FAILED_TICKS || (failures > 0 && now - failingSinceMs >= SILENT_MS)
}

/** An endpoint that was left lately is chosen only if the current one is bad and there is no other. */
function chooseFrom(
  able: readonly PoolEndpoint[],
  of: (endpoint: PoolEndpoint) => Health,
  { now, bad }: { readonly now: number; readonly bad: boolean },
): PoolEndpoint | undefined {
  const free = able.filter((one) => of(one).shunnedUntilMs <= now)
  return byRank(free.length === 0 && bad ? [...able] : free)[0]
}

/** The endpoint that shows the soonest, and the most, is read. */
function rank({ profile }: PoolEndpoint): number {
  const { pending } = profile.current()
  if (pending === 'preconfirmed') return 3
  return pending === 'mempool' ? 2 : pending === 'absent' ? 0 : 1
}

const byRank = (endpoints: PoolEndpoint[]) => endpoints.sort((a, b) => rank(b) - rank(a))

/** The state of an endpoint at the last look. */
type Health = {
  /** The last look brought an answer. */
  answers: boolean
  /**
   * Whether the endpoint has the newest block that was walked (`same`), or a longer chain that stands on an older
   * walked block (`forked`). Undefined for an endpoint that is behind, or shows none of the walked blocks.
   */
  tip: 'same' | 'forked' | undefined
  /** The number of its newest block. */
  head: number
  /** The endpoint shows a block on top of the newest walked one. */
  above: boolean
  tookMs: number
  /** The endpoint is not read before this time, in clock milliseconds, unless there is no other. */
  shunnedUntilMs: number
}

const LOOK_TIMEOUT_MS = 2_000

/** Compares endpoints with the chain as it was walked. */
function createEndpointHealth(parts: {
  readonly endpoints: readonly PoolEndpoint[]
  readonly tracker: () => Tracker
  readonly prober: Prober
  readonly clock: Clock
  readonly limits: Limits
}) {
  const { tracker, prober, clock, limits } = parts
  const healths = new Map(parts.endpoints.map((endpoint) => [endpoint, newHealth()]))
  const of = (endpoint: PoolEndpoint) => healths.get(endpoint) as Health

  async function look(endpoint: PoolEndpoint, onOtherChain: (endpoint: PoolEndpoint) => void): Promise<void> {
    const health = of(endpoint)
    const tip = tracker().head
    const startedMs = clock.now()
    const base = tip && baseOf(tip.number)
    const beside = tip && base ? [tip.number, tip.number + 1, base.number].map(headerCall) : []
    const calls: RpcCall[] = [...prober.identity.calls, headerCall('latest'), ...beside]
    const timeoutMs = Math.min(LOOK_TIMEOUT_MS, limits.readTimeoutMs)
    const replies = await batchReads(endpoint.port, calls, { timeoutMs })
    const holds = prober.identity.holds(replies)
    if (holds === false) return onOtherChain(endpoint)
    const [latest, at, above, below] = replies.slice(prober.identity.calls.length).map(readBlock)
    health.answers = holds === true && typeof latest?.number === 'number'
    health.head = latest?.number ?? 0
    health.tookMs = clock.now() - startedMs
    health.above = above?.parentHash === tip?.hash
    const longer = tip && health.head > tip.number && below !== undefined && below.hash === base?.hash
    // An endpoint that claims more blocks than ours has to show that they stand on ours, since every endpoint of the
    // chain shows its first blocks.
    const same = at?.hash === tip?.hash && (health.above || health.head <= (tip?.number ?? 0))
    health.tip = !tip || same ? 'same' : longer ? 'forked' : undefined
  }

  /** The oldest walked block that a reorg may leave in place: an endpoint that shows it is on our chain. */
  function baseOf(tip: number) {
    let number = Math.max(1, tip - limits.reorgHorizon)
    while (number < tip && tracker().hashAt(number) === undefined) number++
    return { number, hash: tracker().hashAt(number) }
  }

  return { of, look }
}

function newHealth(): Health {
  return {
    answers: false,
    tip: undefined,
    head: 0,
    above: false,
    tookMs: 0,
    shunnedUntilMs: 0,
  }
}
