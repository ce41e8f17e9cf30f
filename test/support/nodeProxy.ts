import {
  Agent,
  createServer,
  request as forward,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { pause } from './pause.js'

/** The traffic that passed the proxy. */
export type Counted = {
  /** The number of HTTP requests. */
  readonly requests: number
  /** The number of JSON-RPC calls in them. */
  readonly calls: number
  readonly methods: Readonly<Record<string, number>>
  /** The number of requests that hold a call of this method. */
  requestsWith(method: string): number
}

export type NodeProxy = AsyncDisposable & {
  readonly url: string
  /** The number of HTTP requests since the proxy began. */
  readonly requests: number
  /** The number of raw transactions since the proxy began. */
  readonly sends: number
  /** The number of these raw transactions that were answered, by the node or by the rule. */
  readonly answered: number
  /** The traffic since the last call of `take`. */
  take(): Counted
}

export type ProxiedCall = {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

/** The ruling on a request. */
export type Ruling =
  | { readonly type: 'pass' }
  /** The connection is closed before the node gets the request. */
  | { readonly type: 'loseRequest' }
  /** The node gets the request; the connection is closed in place of the answer. */
  | { readonly type: 'loseAnswer' }
  /** The proxy answers with this status and text, and the node gets no request. */
  | { readonly type: 'refuse'; readonly status: number; readonly text: string }
  /** The call at this place is not forwarded, but answered with the result. */
  | { readonly type: 'swallow'; readonly place: number; readonly result: unknown }

export type ProxyOptions = {
  /**
   * Added to each round trip: half before the node gets a request, half before the client gets the answer.
   * @default 0
   */
  readonly roundTripMs?: number
  /** Called once for each request before it is forwarded. @default every request passes */
  readonly rule?: (calls: readonly ProxiedCall[]) => Ruling
}

type Answer = { readonly status: number; readonly body: Buffer }

// Longer than any client keeps an idle connection: a connection that closes just as a request arrives would
// cause an error.
const KEEP_ALIVE_MS = 300_000
const JSON_TYPE: IncomingHttpHeaders = { 'content-type': 'application/json' }
const SEND = '"eth_sendRawTransaction"'
const PASS: Ruling = { type: 'pass' }

/**
 * A proxy between a client and a node. It counts the traffic, so that no measurement relies on a library's
 * own figures; it delays each round trip; and it applies the ruling of its rule to each request.
 */
export async function startNodeProxy(target: string, options: ProxyOptions = {}): Promise<NodeProxy> {
  const { roundTripMs = 0, rule } = options
  const agent = new Agent({ keepAlive: true })
  const bodies: Buffer[] = []
  const total = { requests: 0, sends: 0, answered: 0 }
  const halfWay = async () => (roundTripMs === 0 ? undefined : pause(roundTripMs / 2))

  function post(body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { ...JSON_TYPE, 'content-length': body.length }
      const request = forward(target, { method: 'POST', agent, headers }, (reply) => {
        bodyOf(reply).then((words) => resolve({ status: reply.statusCode ?? 502, body: words }), reject)
      })
      request.on('error', reject).end(body)
    })
  }

  /** Undefined if the connection is to be closed. */
  async function answered(body: Buffer): Promise<Answer | undefined> {
    const ruling = rule === undefined ? PASS : rule(callsOf(body))
    switch (ruling.type) {
      case 'pass':
        return post(body)
      case 'loseRequest':
        return undefined
      case 'loseAnswer':
        await post(body)
        return undefined
      case 'refuse':
        return { status: ruling.status, body: Buffer.from(ruling.text) }
      case 'swallow':
        return withoutCall(body, ruling)
      default:
        return ruling satisfies never
    }
  }

  async function withoutCall(
    body: Buffer,
    { place, result }: { place: number; result: unknown },
  ): Promise<Answer> {
    const calls = callsOf(body)
    const invented = { jsonrpc: '2.0', id: calls[place]?.id, result }
    const others = calls.filter((_, at) => at !== place)
    if (others.length === 0) return { status: 200, body: jsonOf(isBatch(body) ? [invented] : invented) }
    const { status, body: words } = await post(jsonOf(others))
    return { status, body: jsonOf([...(JSON.parse(words.toString()) as unknown[]), invented]) }
  }

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming)
    // Parsed later, because the bench clock may be running.
    bodies.push(body)
    total.requests++
    const sends = body.toString().split(SEND).length - 1
    total.sends += sends
    await halfWay()
    const answer = await answered(body)
    total.answered += sends
    await halfWay()
    if (answer === undefined) outgoing.destroy()
    else outgoing.writeHead(answer.status, JSON_TYPE).end(answer.body)
  }

  const server = createServer((incoming, outgoing) => {
    // The node or the client has disconnected. The other side notices when its connection closes.
    pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return total.requests
    },
    get sends() {
      return total.sends
    },
    get answered() {
      return total.answered
    },
    take: () => count(bodies.splice(0).map((body) => callsOf(body).map(({ method }) => method))),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      agent.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function count(requests: readonly (readonly string[])[]): Counted {
  const methods: Record<string, number> = {}
  for (const method of requests.flat()) methods[method] = (methods[method] ?? 0) + 1
  return {
    requests: requests.length,
    calls: requests.flat().length,
    methods,
    requestsWith: (method) => requests.filter((one) => one.includes(method)).length,
  }
}

/** The calls of one request, in order. */
function callsOf(body: Buffer): readonly ProxiedCall[] {
  const parsed = JSON.parse(body.toString()) as ProxiedCall | readonly ProxiedCall[]
  return Array.isArray(parsed) ? (parsed as readonly ProxiedCall[]) : [parsed as ProxiedCall]
}

function isBatch(body: Buffer): boolean {
  return body.toString().trimStart().startsWith('[')
}

function jsonOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
