import type { Chain, Client, Transport } from 'viem'
import { invalid } from '../../errors/invalid.js'
import { type Clock, systemClock } from '../../platform/clock.js'
import type { BatchOptions, EndpointRole, Port, RpcCall, RpcReply } from '../port.js'
import { type CustomRequest, createCustomPort } from './custom.js'
import { createHttpPort } from './http.js'
import { createWebSocketPort, type SocketClientLike } from './webSocket.js'

type PortsOfClientOptions = {
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
  /**
   * The `fetch` for `http` transports. viem does not expose the function that was given to `http`, so it must
   * be given here again.
   */
  readonly fetchFn?: typeof fetch | undefined
  /**
   * Maximum size of one answer in bytes, over HTTP and WebSocket; custom transports have no limit.
   * @default 64 MiB
   */
  readonly responseBytesMax?: number | undefined
}

/**
 * A port with the role that the transport's `methods` option leaves it: `both`, unless the option excludes
 * sends or reads.
 */
type ClientPort = {
  readonly port: Port
  readonly role: EndpointRole
  /** The URL of an `http` transport. It may contain secrets. */
  readonly url: string | undefined
}

/** Any viem client: extended or not, with or without chain and account. */
export type AnyClient<chain extends Chain | undefined = Chain | undefined> = Pick<
  Client<Transport, chain>,
  'transport' | 'request' | 'chain'
>

/** The ports of `clientPorts`, without their roles. */
export function portsOfClient(client: AnyClient, options: PortsOfClientOptions = {}): readonly Port[] {
  return clientPorts(client, options).map(({ port }) => port)
}

/**
 * Converts a viem client's transport to ports, because viem repeats and reroutes requests on its own. `http`
 * becomes a port with its URL, fetch options and timeout; `fallback` one port per transport, in the given
 * order; `webSocket` a port over viem's socket; any other transport a port that calls it with retries off.
 *
 * Not honoured: viem's `batch`, `retryCount`, `rank`, `onFetchRequest` and `onFetchResponse`, which are not
 * visible from outside, and `fetchFn`, which must be given again.
 */
export function clientPorts(client: AnyClient, options: PortsOfClientOptions = {}): readonly ClientPort[] {
  const { transport, request, chain } = client
  return take({ ...transport, call: request as unknown as CustomRequest }, chain, options)
}

/** A transport as viem's client holds it (config and value in one object), with its request function. */
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

/** One member of `fallback`'s `transports`: the result of calling viem's transport function. */
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

/** Users route private sends with `methods`: an endpoint that excludes sends is for reads, and vice versa. */
function roleOf(filter: MethodFilter | undefined): EndpointRole {
  const reads = mayCall(filter, 'eth_getBlockByNumber') && mayCall(filter, 'eth_getTransactionCount')
  if (!mayCall(filter, 'eth_sendRawTransaction')) return 'read'
  return reads ? 'both' : 'send'
}

/** viem's `methods` option of a transport. */
type MethodFilter = {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/** True if viem's transport would allow the method. */
function mayCall(filter: MethodFilter | undefined, method: string): boolean {
  if (filter?.exclude?.includes(method)) return false
  return filter?.include?.includes(method) ?? true
}

/** The port with viem's method filter in front: an excluded method is answered here, as unsupported. */
function withMethods(port: Port, filter: MethodFilter | undefined): Port {
  if (filter?.include === undefined && filter?.exclude === undefined) return port

  async function batch(calls: readonly RpcCall[], options?: BatchOptions): Promise<readonly RpcReply[]> {
    const allowed = calls.filter(({ method }) => mayCall(filter, method))
    const replies = allowed.length === 0 ? [] : await port.batch(allowed, options)
    let next = 0
    return calls.map((each) => (mayCall(filter, each.method) ? replies[next++]! : excluded(each.method)))
  }

  return {
    get name() {
      return port.name
    },
    kind: port.kind,
    stats: port.stats,
    notifications: mayCall(filter, 'eth_subscribe') ? port.notifications : undefined,
    batch,
    close: () => port.close(),
  }
}

function excluded(method: string): RpcReply {
  // The code of the error that viem's own filter throws (MethodNotSupportedRpcError).
  const message = `the method ${method} is excluded by the transport's "methods" option`
  return { ok: false, failure: { kind: 'rpc', code: -32004, message } }
}
