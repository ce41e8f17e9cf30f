import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import { canReceive } from '../../chain/endpoints/privateEndpoints.js'
import type { Attempt } from '../../ledger/slot.js'

/** Selects the endpoints that receive bytes. */
export type Recipients = {
  /** Several endpoints accept sends. */
  readonly several: boolean
  /**
   * The endpoints in the order in which they receive the bytes: all of them, or only the one for new nonces.
   * A rate-limited endpoint is skipped if another one is available.
   */
  of(bytes: Pick<Attempt, 'private'>, all: boolean): readonly PoolEndpoint[]
  /** The endpoint did not answer, so the next one receives new nonces. */
  skip(endpoint: PoolEndpoint): void
}

const NONE: readonly PoolEndpoint[] = []

export function createRecipients(
  endpointPool: Pick<EndpointPool, 'endpoints' | 'reader' | 'senders'>,
): Recipients {
  const takingSends = endpointPool.endpoints.filter(({ role }) => role !== 'read')
  const several = takingSends.length > 1
  // Selects the endpoint that receives new nonces. It advances when that endpoint does not answer.
  let turn = 0

  /** Does not allocate a list, because a burst calls this several times for each transaction. */
  function onlyOne(bytes: Pick<Attempt, 'private'>): readonly PoolEndpoint[] {
    const [endpoint] = takingSends
    return endpoint?.probed && canReceive(endpoint, bytes) ? takingSends : NONE
  }

  return {
    several,
    of(bytes, all) {
      if (!several) return onlyOne(bytes)
      const order = endpointPool.senders()
      const able = order.filter((endpoint) => canReceive(endpoint, bytes))
      if (able.length < 2) return able.length === 0 ? NONE : able
      const free = able.filter(({ gate }) => !gate.isBlocked)
      const usable = free.length > 0 ? free : able
      // The endpoint that the lane reads from goes first. Its profile learns whether its count includes its
      // pool only from transactions that no other endpoint had before.
      if (all)
        return usable.sort((a, b) => Number(b === endpointPool.reader) - Number(a === endpointPool.reader))
      return [usable.find((one) => order.indexOf(one) >= turn % order.length) ?? (usable[0] as PoolEndpoint)]
    },
    skip(endpoint) {
      const order = endpointPool.senders()
      if (order[turn % order.length] === endpoint) turn++
    },
  }
}
