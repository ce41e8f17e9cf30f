import type { PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { DeliveryStatus } from '../../delivery/delivery.js'
import type { DeliveryOptions, EndpointTraits } from '../../delivery/state.js'
import type { Limits } from '../../types/index.js'

/** Well below the body limits that hosted providers set. */
const REQUEST_CHARACTERS_MAX = 512 * 1024

/** What the profile says of an endpoint, as far as the delivery goes by it. */
export function traitsOf({ profile, role }: PoolEndpoint): Partial<EndpointTraits> {
  const { pending, gapBudget, batchInOrder, batch } = profile.current()
  const countsMempool = pending === 'unknown' ? undefined : pending === 'mempool'
  return {
    // An endpoint that only sends is never asked for anything.
    countsMempool: role === 'send' ? false : countsMempool,
    gapBudget,
    batchInOrder,
    batchMax: batch.usable === false ? 1 : batch.sizeMax,
  }
}

/** How a delivery begins: with what earlier ones have shown of the endpoint. */
export function deliveryOptionsOf(
  { profile }: PoolEndpoint,
  limits: Pick<Limits, 'window' | 'windowMax' | 'batchMax' | 'requestsMax'>,
  floor: number,
): DeliveryOptions {
  const { window = 0, pool, batch } = profile.current().delivery
  return {
    floor,
    windowStart: Math.max(limits.window, window),
    windowMax: limits.windowMax,
    poolStart: pool,
    batchStart: batch,
    batchMax: limits.batchMax,
    requestCharactersMax: REQUEST_CHARACTERS_MAX,
    requestsMax: limits.requestsMax,
  }
}

/** The next lane at this endpoint begins with it. Each change of the profile is told: it is worth one when it has doubled. */
export function rememberIn({ profile }: PoolEndpoint, { windowProven, pool, batch }: DeliveryStatus): void {
  const { window = 0 } = profile.current().delivery
  if (windowProven < Math.max(1, 2 * window)) return
  profile.observe({ kind: 'delivered', delivery: { window: windowProven, pool, batch } })
}
