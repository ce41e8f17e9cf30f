import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { isWithin } from '../../platform/clock.js'

const STALE_MS = 5_000
const STALE_BLOCKS = 3

/**
 * A suspended lane has missed events, so it polls before it reserves a nonce. The returned function
 * gives undefined if the lane is up to date.
 */
export function createFreshness(
  { endpointPool, clock }: { readonly endpointPool: Pick<EndpointPool, 'tracker'>; readonly clock: Clock },
  explained: () => Promise<void>,
): () => Promise<void> | undefined {
  return () => {
    const { tickedAt, blockMs } = endpointPool.tracker
    const staleMs = Math.max(STALE_MS, STALE_BLOCKS * (blockMs ?? 0))
    if (tickedAt !== undefined && isWithin(clock, tickedAt, staleMs)) return undefined
    endpointPool.tracker.lookNow()
    return endpointPool.tracker.nextTick().then(explained)
  }
}
