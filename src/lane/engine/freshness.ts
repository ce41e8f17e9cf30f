import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { isWithin } from '../../platform/clock.js'

const STALE_MS = 5_000
const STALE_BLOCKS = 3

/**
 * A lane that slept does not know what happened meanwhile: it looks before it hands out a nonce. The function that is
 * returned gives nothing where the lane is up to date.
 */
export function createFreshness(
  { endpointPool, clock }: { readonly endpointPool: EndpointPool; readonly clock: Clock },
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
