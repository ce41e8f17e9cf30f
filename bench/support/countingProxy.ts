import { Agent, createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Counted = {
  /** HTTP requests. */
  readonly requests: number
  /** JSON-RPC calls in them. */
  readonly calls: number
  readonly methods: Readonly<Record<string, number>>
  /** Requests that hold a call of this method. */
  requestsWith(method: string): number
}

export type CountingProxy = AsyncDisposable & {
  readonly url: string
  /** What has come since the last time. */
  take(): Counted
}

// Longer than any client keeps an idle connection: one that is closed as a request arrives would be an error.
const KEEP_ALIVE_MS = 300_000

/** Stands between a library and a node, hands everything on as it is, and counts, so that no library's word is needed. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const agent = new Agent({ keepAlive: true })
  const bodies: Buffer[] = []

  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks)
      // Read later: the clock may be running.
      bodies.push(body)
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      const onward = forward(target, { method: 'POST', agent, headers }, (reply) => {
        answer.writeHead(reply.statusCode ?? 502, { 'content-type': 'application/json' })
        reply.pipe(answer)
      })
      onward.on('error', () => answer.destroy())
      onward.end(body)
    })
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take: () => count(bodies.splice(0).map((body) => methodsOf(body.toString()))),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      agent.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The methods of the calls of one request, in order. */
function methodsOf(body: string): readonly string[] {
  const parsed = JSON.parse(body) as { method: string } | { method: string }[]
  return (Array.isArray(parsed) ? parsed : [parsed]).map(({ method }) => method)
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
