import { invalid } from '../../errors/invalid.js'
import type { SendOptions, TxRequest } from '../../types/index.js'
import type { EndpointPool, PoolEndpoint } from './endpointPool.js'

/** Whether the bytes may be handed to this endpoint. */
export function canReceive(
  { role }: Pick<PoolEndpoint, 'role'>,
  bytes: { readonly private?: true | undefined },
) {
  return role === 'send' || (role === 'both' && bytes.private !== true)
}

/** Whether anybody here could take a private transaction at all. */
export function hasPrivateEndpoint({ endpoints }: Pick<EndpointPool, 'endpoints'>): boolean {
  return endpoints.some(({ role }) => role === 'send')
}

/**
 * Whether it is to be private: what takes the place of a private one says much the same, so that it is as private
 * unless its caller says otherwise.
 *
 * @throws `INVALID` for one that could not be kept private: nothing of it has been shown to anybody
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
