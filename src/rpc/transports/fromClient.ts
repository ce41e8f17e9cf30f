import type { Chain, Client, Transport } from 'viem'
import { invalid } from '../../errors/invalid.js'
import { type Clock, systemClock } from '../../platform/clock.js'
import type { EndpointRole, Port } from '../port.js'
import { type CustomRequest, createCustomPort } from './custom.js'
import { createHttpPort } from './http.js'
import { type MethodFilter, mayCall, withMethods } from './methodFilter.js'
import { createWebSocketPort, type SocketClientLike } from './webSocket.js'

export type PortsOfClientOptions = {
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
  /** The `fetch` for `http` transports. viem does not show the one that was given to `http`: give it here again. */
  readonly fetchFn?: typeof fetch | undefined
  /** Bytes of one answer, over HTTP and WebSocket; custom transports have no bound. @default 64 MiB */
  readonly responseBytesMax?: number | undefined
}

/** A port, with what the transport's `methods` option leaves it: `both`, unless it excludes sends or reads. */
export type ClientPort = {
  readonly port: Port
  readonly role: EndpointRole
  /** Of an `http` transport, with whatever secrets it has. */
  readonly url: string | undefined
}

/** Any viem client: extended, with or without chain and account. */
export type AnyClient = Pick<Client<Transport, Chain | undefined>, 'transport' | 'request' | 'chain'>

/** The ports of `clientPorts`, whatever their role. */
export function portsOfClient(client: AnyClient, options: PortsOfClientOptions = {}): readonly Port[] {
  return clientPorts(client, options).map(({ port }) => port)
}

/**
 * Takes a viem client's transport apart, since viem repeats and reroutes requests on its own: `http` becomes a port
 * with its URL, fetch options and timeout; `fallback` one port for each of its transports, in the order given;
 * `webSocket` one over viem's socket; anything else one that calls it with retries off.
 *
 * Not honoured: viem's `batch`, `retryCount`, `rank`, `onFetchRequest` and `onFetchResponse` (they cannot be seen
 * from outside), and `fetchFn`, which must be given again.
 */
export function clientPorts(client: AnyClient, options: PortsOfClientOptions = {}): readonly ClientPort[] {
  const { transport, request, chain } = client
  return take({ ...transport, call: request as unknown as CustomRequest }, chain, options)
}

/** A transport as viem's client holds it (config and value in one), with its request function. */
type Taken = {
  readonly type?: unknown
  readonly name?: unknown
  readonly key?: unknown
  readonly timeout?: unknown
  readonly methods?: unknown
  readonly url?: unknown
  readonly fetchOptions?: unknown
  readonly transports?: unknown
  readonly getRpcClient?: unknown
  readonly call: CustomRequest
}

/** One member of `fallback`'s `transports`: what calling viem's transport function returns. */
type Member = {
  readonly config: Record<string, unknown>
  readonly request: CustomRequest
  readonly value?: Record<string, unknown>
}

function take(taken: Taken, chain: Chain | undefined, options: PortsOfClientOptions): readonly ClientPort[] {
  if (taken.type === 'fallback' && Array.isArray(taken.transports)) {
    return (taken.transports as Member[]).flatMap(({ config, value, request }) =>
      take({ ...config, ...value, call: request }, chain, options),
    )
  }
  const filter = taken.methods as MethodFilter | undefined
  const url = taken.type === 'http' ? httpUrl(taken.url, chain) : undefined
  return [{ port: withMethods(portOf(taken, chain, options), filter), role: roleOf(filter), url }]
}

function portOf(taken: Taken, chain: Chain | undefined, options: PortsOfClientOptions): Port {
  const { clock = systemClock, responseBytesMax } = options
  const timeoutMs = typeof taken.timeout === 'number' ? taken.timeout : undefined
  const { type, url, fetchOptions, getRpcClient } = taken
  if (type === 'http') {
    return createHttpPort({
      url: httpUrl(url, chain),
      fetchOptions: fetchOptions as Omit<RequestInit, 'body'> | undefined,
      fetchFn: options.fetchFn,
      timeoutMs,
      responseBytesMax,
      clock,
    })
  }
  const name = typeof taken.name === 'string' ? taken.name : 'custom transport'
  if (type === 'webSocket' && typeof getRpcClient === 'function') {
    return createWebSocketPort({
      getRpcClient: getRpcClient as () => Promise<SocketClientLike>,
      name,
      timeoutMs,
      responseBytesMax,
      clock,
    })
  }
  return createCustomPort({ request: taken.call, name, timeoutMs, clock })
}

function httpUrl(url: unknown, chain: Chain | undefined): string {
  const found = typeof url === 'string' ? url : chain?.rpcUrls.default.http[0]
  if (found === undefined)
    throw invalid('client', undefined, 'a transport with a URL, or a chain with a default one')
  return found
}

/** People route private sends with `methods`: an endpoint that excludes sends is for reads, and the other way. */
function roleOf(filter: MethodFilter | undefined): EndpointRole {
  const reads = mayCall(filter, 'eth_getBlockByNumber') && mayCall(filter, 'eth_getTransactionCount')
  if (!mayCall(filter, 'eth_sendRawTransaction')) return 'read'
  return reads ? 'both' : 'send'
}
