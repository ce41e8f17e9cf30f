import { Agent, createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pause } from '../../support/pause.js'

/** Stands before a node: adds time to each round trip, and counts what goes by. */
export type LatencyProxy = AsyncDisposable & {
  readonly url: string
  readonly requests: number
  /** Raw transactions handed to the node. */
  readonly sends: number
}

// Longer than any client keeps an idle connection: one that is closed as a request arrives would be an error.
const KEEP_ALIVE_MS = 300_000

/** Half of `roundTripMs` before the node has a request, half before the client has the answer. */
export async function startLatencyProxy(target: string, roundTripMs = 0): Promise<LatencyProxy> {
  const agent = new Agent({ keepAlive: true })
  const counted = { requests: 0, sends: 0 }
  const half = async () => (roundTripMs === 0 ? undefined : pause(roundTripMs / 2))
  const post = (body: Buffer) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      forward(target, { method: 'POST', agent, headers }, resolve).on('error', reject).end(body)
    })

  async function pass(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming)
    counted.requests++
    counted.sends += body.toString().split('"eth_sendRawTransaction"').length - 1
    await half()
    const reply = await post(body)
    const words = await bodyOf(reply)
    await half()
    answer.writeHead(reply.statusCode ?? 502, { 'content-type': 'application/json' }).end(words)
  }

  const server = createServer((incoming, answer) => {
    // The node or the client has gone: the other one hears of it by its connection.
    pass(incoming, answer).catch(() => answer.destroy())
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return counted.requests
    },
    get sends() {
      return counted.sends
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      agent.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
