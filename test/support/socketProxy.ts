import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'

export type SocketProxy = AsyncDisposable & {
  readonly url: string
  /** The requests since the last `take`, by method. A batch counts once for each of its methods. */
  take(): Readonly<Record<string, number>>
  /** The proxy withholds the notifications of subscriptions. */
  silent: boolean
  /** The connections that are open now. */
  readonly sockets: number
  /** Closes all connections. */
  drop(): void
}

type Call = { readonly method?: string }

/** A proxy in front of the WebSocket of a node that counts requests, withholds notifications and breaks connections. */
export async function startSocketProxy(nodeUrl: string): Promise<SocketProxy> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  let counts: Record<string, number> = {}
  const proxy = {
    silent: false,
    get sockets() {
      return server.clients.size
    },
  }

  server.on('connection', (client) => {
    const upstream = new WebSocket(nodeUrl.replace(/^http/, 'ws'))
    const early: string[] = []
    client.on('message', (data) => {
      const text = data.toString()
      const calls = [JSON.parse(text) as Call | readonly Call[]].flat() as readonly Call[]
      for (const method of new Set(calls.map((call) => call.method)))
        if (method !== undefined) counts[method] = (counts[method] ?? 0) + 1
      if (upstream.readyState === WebSocket.OPEN) upstream.send(text)
      else early.push(text)
    })
    upstream.on('open', () => {
      for (const text of early.splice(0)) upstream.send(text)
    })
    upstream.on('message', (data) => {
      const text = data.toString()
      if (!proxy.silent || !text.includes('"eth_subscription"')) client.send(text)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.terminate())
    }
  })

  const drop = () => {
    for (const client of server.clients) client.terminate()
  }
  return Object.assign(proxy, {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = counts
      counts = {}
      return taken
    },
    drop,
    async [Symbol.asyncDispose]() {
      drop()
      server.close()
      await once(server, 'close')
    },
  })
}
