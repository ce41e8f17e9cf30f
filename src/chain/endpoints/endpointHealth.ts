import type { Clock } from '../../platform/clock.js'
import { batchReads } from '../../rpc/batchReads.js'
import { headerCall } from '../../rpc/codec.js'
import type { RpcCall } from '../../rpc/port.js'
import type { Limits } from '../../types/index.js'
import type { Tracker } from '../blocks/blockPoller.js'
import { readBlock } from '../blocks/evidenceReplies.js'
import type { PoolEndpoint } from './endpointPool.js'
import type { Prober } from './prober.js'

/** The state of an endpoint at the last look. */
export type Health = {
  /** The last look brought an answer. */
  answers: boolean
  /**
   * Whether the endpoint has the newest block that was walked (`same`), or a longer chain that stands on an older walked block
   * (`forked`). Undefined for an endpoint that is behind, or shows other blocks altogether.
   */
  tip: 'same' | 'forked' | undefined
  /** The number of its newest block. */
  head: number
  /** It shows a block on top of the newest walked one. */
  above: boolean
  tookMs: number
  /** The endpoint is not read before this time, in clock milliseconds, unless there is no other. */
  shunnedUntilMs: number
}

const LOOK_TIMEOUT_MS = 2_000

/** Compares endpoints with the chain as it was walked. */
export function createEndpointHealth(parts: {
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
