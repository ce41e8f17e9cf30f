import { invalid } from '../../errors/invalid.js'
import type { SendOptions, TxRequest } from '../../types/index.js'
import type { EndpointPool, PoolEndpoint } from './endpointPool.js'

/** True if the bytes may be sent to this endpoint. */
export function canReceive(
  { role }: Pick<PoolEndpoint, 'role'>,
  bytes: { readonly private?: true | undefined },
) {
  return role === 'send' || (role === 'both' && bytes.private !== true)
}

/** True if an endpoint of the pool accepts private transactions. */
export function hasPrivateEndpoint({ endpoints }: Pick<EndpointPool, 'endpoints'>): boolean {
  return endpoints.some(({ role }) => role === 'send')
}

/**
 * Decides whether a transaction is private. A replacement of a private one is private too, unless its caller chooses
 * otherwise, because it shows much the same.
 *
 * @throws `INVALID` for a transaction that could not be kept private, before anything of it was sent
 */
export function resolvePrivate(
  endpointPool: Pick<EndpointPool, 'endpoints'>,
  request: TxRequest,
  options: SendOptions,
  replaces: { readonly private?: true | undefined } | undefined,
): true | undefined {
  if (!(options.private ?? replaces?.private ?? false)) return undefined
  if (!hasPrivateEndpoint(endpointPool)) throw invalid('options.private', true, "a 'send' endpoint")
  if (request.gas === undefined)
    throw invalid('request.gas', undefined, 'gas: an estimate would show the transaction')
  return true
}
