import type { PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { DeliveryStatus } from '../../delivery/delivery.js'
import type { DeliveryOptions, EndpointTraits } from '../../delivery/state.js'
import type { Limits } from '../../types/index.js'

/** Well below the body limits of hosted providers. */
const REQUEST_CHARACTERS_MAX = 512 * 1024

/** The properties of an endpoint's profile that the delivery depends on. */
export function traitsOf({ profile, role }: PoolEndpoint): Partial<EndpointTraits> {
  const { pending, gapBudget, batchInOrder, batch, sendSync } = profile.current()
  const countsMempool = pending === 'unknown' ? undefined : pending === 'mempool'
  return {
    // An endpoint that only receives sends gets no other requests.
    countsMempool: role === 'send' ? false : countsMempool,
    gapBudget,
    batchInOrder,
    batchMax: batch.usable === false ? 1 : batch.sizeMax,
    sendSync: sendSync === undefined ? undefined : sendSync !== false,
  }
}

/** The initial state of a delivery, from the results of earlier deliveries at this endpoint. */
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

/**
 * Stores the proven limits, so that the next lane at this endpoint starts with them. Each change notifies the
 * listeners of the profile, so only a doubled window is worth a change.
 */
export function rememberIn({ profile }: PoolEndpoint, { windowProven, pool, batch }: DeliveryStatus): void {
  const { window = 0 } = profile.current().delivery
  if (windowProven < Math.max(1, 2 * window)) return
  profile.observe({ kind: 'delivered', delivery: { window: windowProven, pool, batch } })
}
