import { invalid } from '../../errors/invalid.js'
import type { SendOptions, TxRequest } from '../../types/index.js'
import type { Hub, HubEndpoint } from './endpointPool.js'

/** Whether the bytes may be handed to this endpoint. */
export function mayHave({ role }: Pick<HubEndpoint, 'role'>, bytes: { readonly private?: true | undefined }) {
  return role === 'send' || (role === 'both' && bytes.private !== true)
}

/** Whether anybody here could take a private transaction at all. */
export function hasPrivateWay({ endpoints }: Pick<Hub, 'endpoints'>): boolean {
  return endpoints.some(({ role }) => role === 'send')
}

/**
 * Whether it is to be private: what takes the place of a private one says much the same, so that it is as private
 * unless its caller says otherwise.
 *
 * @throws `INVALID` for one that could not be kept private: nothing of it has been shown to anybody
 */
export function privateOf(
  hub: Pick<Hub, 'endpoints'>,
  request: TxRequest,
  options: SendOptions,
  replaces: { readonly private?: true | undefined } | undefined,
): true | undefined {
  if (!(options.private ?? replaces?.private ?? false)) return undefined
  if (!hasPrivateWay(hub)) throw invalid('options.private', true, "a 'send' endpoint")
  if (request.gas === undefined)
    throw invalid('request.gas', undefined, 'gas: an estimate would show the transaction')
  return true
}
