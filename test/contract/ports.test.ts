import { type Client, createClient, custom, fallback, http, type Transport, webSocket } from 'viem'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Port, RpcReply } from '../../src/rpc/port.js'
import { portsOfClient } from '../../src/rpc/transports/fromClient.js'
import { createVirtualClock } from '../sim/virtualClock.js'
import {
  answering,
  type Script,
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from './scriptedServer.js'

const hash = `0x${'ab'.repeat(32)}`
const raw = '0x02f86b'
const send = { method: 'eth_sendRawTransaction', params: [raw] }
const chainId = { method: 'eth_chainId', params: [] }
const good = answering(({ method }) => ({ result: method === 'eth_chainId' ? '0x1' : hash }))
const RETRIES = { retryCount: 3, retryDelay: 1 }

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function serve(script: Script): Promise<ScriptedServer> {
  const server = await startScriptedServer(script)
  cleanups.push(() => server.close())
  return server
}

function portsOf(
  transport: Transport,
  clock = createVirtualClock(),
): { ports: readonly Port[]; client: Client } {
  const client = createClient({ transport })
  const ports = portsOfClient(client, { clock })
  cleanups.push(() => {
    for (const port of ports) port.close()
  })
  return { ports, client }
}

/** viem's provider for a custom transport: it posts by itself, and rejects as wallets do. */
function provider(url: string) {
  return {
    async request({ method, params }: { method: string; params?: unknown }) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const response = await fetch(url, { method: 'POST', body, redirect: 'manual' })
      if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), { status: response.status })
      const { result, error } = (await response.json()) as {
        result?: unknown
        error?: { code: number; message: string }
      }
      if (error) throw Object.assign(new Error(error.message), { code: error.code })
      return result
    },
  }
}

const http_ = (server: ScriptedServer) => http(server.url, RETRIES)
const transports: Record<string, (server: ScriptedServer) => Transport> = {
  http: http_,
  'http with batching': (server) => http(server.url, { ...RETRIES, batch: true }),
  fallback: (server) => fallback([http_(server), http_(server)], RETRIES),
  custom: (server) => custom(provider(server.url), RETRIES),
  webSocket: (server) => webSocket(server.wsUrl, { ...RETRIES, reconnect: false }),
}

const error = (code: number, message: string): Script => answering(() => ({ error: { code, message } }))
const overHttp: Record<string, Script> = {
  'HTTP 503': () => ({ status: 503, body: 'busy' }),
  'HTTP 500 with a JSON-RPC error': () => ({
    status: 500,
    body: { id: null, error: { code: -32603, message: 'no' } },
  }),
  'HTTP 429 with Retry-After': () => ({ status: 429, headers: { 'retry-after': '0' }, body: 'slow down' }),
  'HTTP 403': () => ({ status: 403, body: 'forbidden' }),
  'HTTP 408': () => ({ status: 408, body: '' }),
  'a redirect': ({ number }) => ({ status: 307, headers: { location: `/${number}` }, body: '' }),
}
const overBoth: Record<string, Script> = {
  'a reset connection': () => 'reset',
  'an internal error': error(-32603, 'internal error'),
  'a rate limit': error(-32005, 'rate limit exceeded'),
  'an unknown error': error(-1, 'unknown'),
  HTML: () => ({ headers: { 'content-type': 'text/html' }, body: '<html></html>' }),
}

test('a send that is redirected is not posted to the new location, and the failure says why', async () => {
  const server = await serve(({ number }) => ({ status: 307, headers: { location: `/${number}` }, body: '' }))
  const [port] = portsOf(http_(server)).ports
  const message = 'the server redirects: configure the URL that it redirects to'
  expect(await port!.batch([send])).toMatchObject([{ ok: false, failure: { message } }])
  expect(server.sends()).toEqual([raw])
})

describe.each(Object.entries(transports))('a send over %s', (name, transport) => {
  const failures = { ...overBoth, ...(name === 'webSocket' ? {} : overHttp) }

  test.each(Object.entries(failures))('is posted once, although it meets %s', async (what, script) => {
    const server = await serve(script)
    const clock = createVirtualClock()
    const { ports, client } = portsOf(transport(server), clock)
    const replies = ports[0]!.batch([send])
    // A frame that is not JSON matches no call, so the wait ends only by its timeout.
    if (name === 'webSocket' && what === 'HTML') {
      await vi.waitUntil(() => server.requests.length > 0)
      await clock.advance(10_000)
    }
    expect((await replies)[0]?.ok).toBe(false)
    expect(server.sends()).toEqual([raw])
    if (name === 'webSocket') (await rpcClientOf(client)).close()
  })

  test('is posted once, although no answer comes in time', async () => {
    const clock = createVirtualClock()
    const server = await serve(() => 'hang')
    const { ports, client } = portsOf(transport(server), clock)
    const replies = ports[0]!.batch([send])
    await vi.waitUntil(() => server.requests.length > 0)
    await clock.advance(10_000)
    expect(await replies).toMatchObject([{ failure: { kind: 'timeout' } }])
    expect(server.sends()).toEqual([raw])
    if (name === 'webSocket') (await rpcClientOf(client)).close()
  })
})

describe('the endpoints of a fallback', () => {
  test('are addressed separately: a send to one never reaches the other', async () => {
    const [first, second] = [await serve(() => ({ status: 503, body: '' })), await serve(good)]
    const { ports } = portsOf(fallback([http_(first), http_(second)], RETRIES))
    expect(await ports[0]!.batch([send])).toMatchObject([{ failure: { kind: 'http', status: 503 } }])
    expect(second.sends()).toEqual([])
    expect(await ports[1]!.batch([send])).toEqual([{ ok: true, result: hash }])
    expect([first.sends(), second.sends()]).toEqual([[raw], [raw]])
  })
})

describe('a burst over HTTP', () => {
  test('of 5,000 transactions in batches of 100 is 50 requests, in order', async () => {
    const server = await serve(good)
    const { ports } = portsOf(http(server.url))
    const sends = Array.from({ length: 5000 }, (_, index) => ({
      ...send,
      params: [`0x${index.toString(16)}`],
    }))
    for (let start = 0; start < 5000; start += 100) {
      const replies = await ports[0]!.batch(sends.slice(start, start + 100))
      expect(replies.every((reply) => reply.ok)).toBe(true)
    }
    expect(server.requests).toHaveLength(50)
    expect(server.sends()).toEqual(sends.map(({ params }) => params[0]))
    expect(ports[0]!.stats).toEqual({ requests: 50, calls: 5000 })
  })
})

describe('a viem WebSocket', () => {
  test('carries a batch in one frame, and matches answers by id while several are in flight', async () => {
    const answers: (() => void)[] = []
    const server = await serve(async (request): Promise<ScriptedAnswer> => {
      await new Promise<void>((resolve) => answers.push(resolve))
      const { body } = (await good(request)) as { body: unknown }
      return { body: Array.isArray(body) ? body.reverse() : body }
    })
    const { ports, client } = portsOf(webSocket(server.wsUrl, { reconnect: false }))
    const open = [
      ports[0]!.batch([chainId, send]),
      ports[0]!.batch([send]),
      client.request({ method: 'eth_chainId' }),
    ]
    await vi.waitUntil(() => answers.length === 3)
    for (const answer of answers.reverse()) answer()
    expect(await Promise.all(open)).toEqual([
      [
        { ok: true, result: '0x1' },
        { ok: true, result: hash },
      ],
      [{ ok: true, result: hash }],
      '0x1',
    ])
    expect(server.requests.map(({ calls }) => calls.length).sort()).toEqual([1, 1, 2])
    expect(ports[0]!.name).toBe(server.wsUrl)
    ;(await rpcClientOf(client)).close()
  })

  test('that drops leaves open calls without an answer, and no frame is repeated when viem reconnects', async () => {
    const server = await serve(({ number }) => (number === 1 ? 'hang' : { body: '' }))
    const { ports, client } = portsOf(
      webSocket(server.wsUrl, { ...RETRIES, reconnect: { delay: 1, attempts: 50 } }),
    )
    const open = ports[0]!.batch([send, send])
    await vi.waitUntil(() => server.requests.length === 1)
    server.script(good)
    await server.dropSockets()
    expect(await open).toMatchObject([{ failure: { kind: 'network' } }, { failure: { kind: 'network' } }])
    const reply = await vi.waitUntil(async () => {
      const [answer] = await ports[0]!.batch([chainId])
      return answer?.ok ? answer : undefined
    })
    expect(reply).toEqual<RpcReply>({ ok: true, result: '0x1' })
    expect(server.sends()).toEqual([raw, raw])
    ;(await rpcClientOf(client)).close()
  })

  test('that cannot be opened is a `network` failure, with no frame written', async () => {
    const server = await serve(good)
    const { wsUrl } = server
    await server.close()
    cleanups.length = 0
    const { ports } = portsOf(webSocket(wsUrl, { reconnect: false }))
    expect(await ports[0]!.batch([send])).toMatchObject([{ failure: { kind: 'network' } }])
    expect(ports[0]!.stats.requests).toBe(0)
  })
})

async function rpcClientOf(client: Client): Promise<{ close(): void }> {
  return (client.transport as unknown as { getRpcClient(): Promise<{ close(): void }> }).getRpcClient()
}
