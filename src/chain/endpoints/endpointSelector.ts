import type { Clock } from '../../platform/clock.js'
import { batchReads } from '../../rpc/batchReads.js'
import { headerCall } from '../../rpc/codec.js'
import type { RpcCall } from '../../rpc/port.js'
import type { EndpointEvent, Limits } from '../../types/index.js'
import type { Tracker } from '../blocks/blockPoller.js'
import { readBlock } from '../blocks/evidenceReplies.js'
import type { PoolEndpoint } from './endpointPool.js'
import type { Prober } from './prober.js'

/**
 * Which endpoint is read, and when another takes its place. One is read for as long as it is well: it changes only
 * after it was bad for a while, to one that knows the blocks that were walked, and not back as soon as the former one
 * is well again. What they show is compared beside the ticks, with a request each now and then; there is no timer, so
 * that nobody is asked anything while nobody wants to know.
 */
export type EndpointSelector = {
  readonly current: PoolEndpoint
  /** A tick of the current one is over. */
  ticked(brought: boolean, tookMs: number): void
  /** The current one shows another chain. */
  onWrongChain(): void
  /** The others that may be read, the best first. */
  others(): readonly PoolEndpoint[]
  /** What the current one answers is contradicted: another one is read as soon as one is known to be well. */
  doubt(why: string): void
  stop(): void
}

/** What was seen of one of them. */
type Health = {
  /** The last look brought an answer. */
  answers: boolean
  /**
   * Whether it has the newest block that was walked; or a longer chain, which stands on an older one of them. Neither
   * for one that is behind, or shows something else altogether.
   */
  tip: 'same' | 'forked' | undefined
  /** Its newest block; and whether it shows one that stands on the newest that was walked. */
  head: number
  above: boolean
  tookMs: number
  /** Not to be read before this time, unless there is no other. */
  shunnedUntilMs: number
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
const SHUN_MS = 60_000
const BLOCK_MS_DEFAULT = 2_000

export function createEndpointSelector(parts: {
  readonly endpoints: readonly PoolEndpoint[]
  readonly tracker: () => Tracker
  readonly prober: Prober
  readonly clock: Clock
  readonly limits: Limits
  readonly tell: (endpoint: PoolEndpoint, change: EndpointEvent['change'], reason?: string) => void
}): EndpointSelector | undefined {
  const { tracker, prober, clock, limits, tell } = parts
  const all = parts.endpoints.filter(({ role }) => role !== 'send')
  const [first] = all.filter(({ probed }) => probed).sort((a, b) => rank(b) - rank(a))
  if (first === undefined) return undefined
  const healths = new Map(all.map((endpoint) => [endpoint, newHealth()]))
  const alone = all.length === 1
  let current: PoolEndpoint = first
  let failures = 0
  let failingSinceMs = 0
  let slowMs = 0
  let lagged = 0
  let betterSinceMs: number | undefined
  let lookedMs = clock.now()
  let looking = false
  let stopped = false
  // Why the current one is doubted, since it was taken.
  let doubtedFor: string | undefined

  const of = (endpoint: PoolEndpoint) => healths.get(endpoint) as Health
  const blockMs = () => tracker().blockMs ?? BLOCK_MS_DEFAULT

  function ticked(brought: boolean, tookMs: number): void {
    const now = clock.now()
    if (failures === 0) failingSinceMs = now - tookMs
    failures = brought ? 0 : failures + 1
    slowMs = slowMs * 0.75 + tookMs * 0.25
    if (alone || looking || now - lookedMs < (doubtful(now) ? LOOK_MS_DOUBTFUL : LOOK_MS)) return
    void look()
  }

  function doubtful(now: number): boolean {
    const stands = now - (tracker().headAtMs ?? now) > Math.max(LAG_MS, LAG_BLOCKS * blockMs())
    return (
      doubtedFor !== undefined || failures > 0 || lagged > 0 || stands || !current.probed || slowMs > SLOW_MS
    )
  }

  // --- what they show ------------------------------------------------------------------------------------------

  async function look(): Promise<void> {
    looking = true
    lookedMs = clock.now()
    // That the current one does not answer is known from its ticks: nobody waits for it once more.
    const asked = all.filter((one) => one.probed && !one.gate.isBlocked && !(one === current && failures > 0))
    await Promise.all(asked.map(lookAt))
    looking = false
    if (!stopped) decide(asked)
  }

  async function lookAt(endpoint: PoolEndpoint): Promise<void> {
    const health = of(endpoint)
    const tip = tracker().head
    const startedMs = clock.now()
    const base = tip && baseOf(tip.number)
    const beside = tip && base ? [tip.number, tip.number + 1, base.number].map(headerCall) : []
    const calls: RpcCall[] = [...prober.identity.calls, headerCall('latest'), ...beside]
    const timeoutMs = Math.min(LOOK_TIMEOUT_MS, limits.readTimeoutMs)
    const replies = await batchReads(endpoint.port, calls, { timeoutMs })
    if (stopped) return
    const holds = prober.identity.holds(replies)
    if (holds === false) return leaveOut(endpoint)
    const [latest, at, above, below] = replies.slice(prober.identity.calls.length).map(readBlock)
    health.answers = holds === true && typeof latest?.number === 'number'
    health.head = latest?.number ?? 0
    health.tookMs = clock.now() - startedMs
    health.above = above?.parentHash === tip?.hash
    const longer = tip && health.head > tip.number && below !== undefined && below.hash === base?.hash
    // Who claims more blocks than ours has to show that they stand on ours: the first ones of a chain everybody knows.
    const same = at?.hash === tip?.hash && (health.above || health.head <= (tip?.number ?? 0))
    health.tip = !tip || same ? 'same' : longer ? 'forked' : undefined
  }

  /** The oldest walked block that a reorg may leave standing: whoever shows it is on our chain. */
  function baseOf(tip: number) {
    let number = Math.max(1, tip - limits.reorgHorizon)
    while (number < tip && tracker().hashAt(number) === undefined) number++
    return { number, hash: tracker().hashAt(number) }
  }

  /** Nothing is sent to it or believed of it until it shows our chain again. */
  function leaveOut(endpoint: PoolEndpoint): void {
    if (!endpoint.probed) return
    endpoint.probed = false
    of(endpoint).answers = false
    tell(endpoint, 'wrongChain')
    prober.again()
    if (endpoint === current) tracker().doubt()
  }

  // --- what follows from it ------------------------------------------------------------------------------------

  function decide(asked: readonly PoolEndpoint[]): void {
    const now = clock.now()
    const others = asked.filter((one) => one !== current && one.probed && of(one).answers)
    const gone =
      !current.probed || failures >= FAILED_TICKS || (failures > 0 && now - failingSinceMs >= SILENT_MS)
    const bad = gone || doubtedFor !== undefined || isBehind(others) || isSlow(others)
    // The one that was read is gone, and its last block with it: a reorg, as one endpoint alone would show it.
    const able = (tip: Health['tip']) => bestOf(others, tip, now, bad)
    const best = able('same') ?? (gone ? able('forked') : undefined)
    if (best && bad) return readFrom(best, true)
    betterSinceMs = best && rank(best) > rank(current) ? (betterSinceMs ?? now) : undefined
    if (best && now - (betterSinceMs ?? now) >= CALM_MS) readFrom(best, false)
  }

  /** The head that an endpoint claims is worth nothing: it has to show the block above ours. */
  function isBehind(others: readonly PoolEndpoint[]): boolean {
    const least = Math.max(LAG_BLOCKS, LAG_MS / blockMs())
    const tip = tracker().head?.number ?? 0
    const ahead = others.some((one) => of(one).above && of(one).tip === 'same' && of(one).head - tip >= least)
    lagged = ahead ? lagged + 1 : 0
    return lagged >= LAG_LOOKS
  }

  function isSlow(others: readonly PoolEndpoint[]): boolean {
    return slowMs > SLOW_MS && others.some((one) => of(one).tookMs * SLOW_FACTOR < slowMs)
  }

  function bestOf(
    others: readonly PoolEndpoint[],
    tip: Health['tip'],
    now: number,
    bad: boolean,
  ): PoolEndpoint | undefined {
    const able = others.filter((one) => of(one).tip === tip)
    const free = able.filter((one) => of(one).shunnedUntilMs <= now)
    const chosen = free.length === 0 && bad ? able : free
    return chosen.sort((a, b) => rank(b) - rank(a))[0]
  }

  function readFrom(next: PoolEndpoint, bad: boolean): void {
    const former = current
    if (bad) {
      of(former).shunnedUntilMs = clock.now() + SHUN_MS
      if (former.probed) tell(former, 'down')
    }
    current = next
    failures = 0
    lagged = 0
    slowMs = 0
    betterSinceMs = undefined
    doubtedFor = undefined
    tell(next, 'reader')
    tracker().readElsewhere()
  }

  return {
    get current() {
      return current
    },
    ticked,
    onWrongChain() {
      leaveOut(current)
    },
    others: () =>
      all
        .filter((one) => one !== current && one.probed && !one.gate.isBlocked)
        .sort((a, b) => rank(b) - rank(a)),
    doubt(why) {
      if (doubtedFor !== why) tell(current, 'doubtful', why)
      doubtedFor = why
      if (!alone && !looking && !stopped) void look()
    },
    stop() {
      stopped = true
    },
  }
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

/** What is told soonest, and of the most, is read. */
function rank({ profile }: PoolEndpoint): number {
  const { pending } = profile.current()
  if (pending === 'preconfirmed') return 3
  return pending === 'mempool' ? 2 : pending === 'absent' ? 0 : 1
}
