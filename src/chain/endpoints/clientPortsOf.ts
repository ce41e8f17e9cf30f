import { clientPorts } from '../../rpc/transports/fromClient.js'
import type { Limits } from '../../types/index.js'
import type { Environment, PortsOf } from '../environment.js'

/** The ports of a viem client, for the role of its endpoint. */
export function clientPortsOf(
  clock: Environment['clock'],
  { responseBytesMax }: Pick<Limits, 'responseBytesMax'>,
): PortsOf {
  return (client, { fetchFn, role }) =>
    clientPorts(client, { clock, fetchFn, responseBytesMax }).map((entry) => ({
      port: entry.port,
      url: entry.url,
      role: role === undefined || role === 'both' ? entry.role : role,
    }))
}
