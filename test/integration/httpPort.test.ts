import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/platform/clock.js'
import type { RpcCall } from '../../src/rpc/port.js'
import { createHttpPort, type HttpPortOptions } from '../../src/rpc/transports/http.js'
import { freePort } from '../support/freePort.js'

type Answer = (response: ServerResponse, results: string, request: IncomingMessage) => unknown

const CALLS: readonly RpcCall[] = ['a', 'b'].map((method) => ({ method, params: [] }))
const DISPATCHER = Symbol.for('undici.globalDispatcher.1')

const plain: Answer = (response, results) => response.end(results)
let answer = plain
let url = ''
const asked: IncomingMessage[] = []
const server = createServer((request, response) => {
  asked.push(request)
  let text = ''
  request.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  request.on('end', () => {
    const calls = [JSON.parse(text)].flat() as { id: number; method: string }[]
    const results = JSON.stringify(calls.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: method })))
    answer(response, results, request)
  })
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // Node's fetch sets its global dispatcher at its first request.
  await (await fetch(url, { method: 'POST', body: '[]' })).text()
})
beforeEach(() => {
  answer = plain
  asked.length = 0
})
afterEach(() => vi.unstubAllGlobals())
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const portOf = (options: Partial<HttpPortOptions> = {}) =>
  createHttpPort({ url: `${url}/path?key=1`, clock: systemClock, ...options })
/** `fetch` requests more encodings. */
const isByFetch = ({ headers }: IncomingMessage) => headers['accept-encoding'] !== 'gzip'

const LONG = 'ä€😀'.repeat(100_000)
const long = (results: string) => results.replace('"a"', JSON.stringify(LONG))

const ANSWERS: readonly (readonly [what: string, answer: Answer])[] = [
  ['the expected answer', plain],
  [
    'a long one, in pieces that cut through characters',
    (response, results) => {
      const bytes = Buffer.from(long(results))
      for (let at = 0; at < bytes.length; at += 10_007) response.write(bytes.subarray(at, at + 10_007))
      response.end()
    },
  ],
  [
    'a compressed one',
    (response, results) => {
      response.setHeader('content-encoding', 'gzip')
      response.end(gzipSync(long(results)))
    },
  ],
  ...['GZIP', 'x-gzip'].map(
    (coding) =>
      [
        `a compressed one with the encoding ${coding}`,
        (response: ServerResponse, results: string) => {
          response.setHeader('content-encoding', coding)
          response.end(gzipSync(results))
        },
      ] as const,
  ),
  [
    'one after 103',
    (response, results) => {
      response.writeEarlyHints({ link: '</x>; rel=preload' })
      response.end(results)
    },
  ],
  ['one with a byte order mark', (response, results) => response.end(`\uFEFF${results}`)],
  ['an empty one', (response) => response.end()],
  ['no JSON', (response) => response.end('<html>')],
  [
    'too many requests',
    (response) => {
      response.writeHead(429, { 'Retry-After': '2' })
      response.end()
    },
  ],
  [
    'an error of its own, with an error status',
    (response) => {
      response.writeHead(503)
      response.end('{"id":null,"error":{"code":-32005,"message":"busy"}}')
    },
  ],
  [
    'a redirect',
    (response) => {
      response.writeHead(307, { location: '/elsewhere' })
      response.end()
    },
  ],
  [
    'nothing: the connection is cut',
    (response) => {
      response.socket?.destroy()
    },
  ],
  [
    'half of it, and the connection is cut',
    (response, results) => {
      response.writeHead(200, { 'content-length': String(results.length) })
      response.write(results.slice(0, 10))
      setImmediate(() => response.socket?.destroy())
    },
  ],
]

describe("the answer is the same when Node's fetch is bypassed", () => {
  test.each(ANSWERS)('%s', async (_, given) => {
    answer = given
    const direct = await portOf().batch(CALLS)
    const byFetch = await portOf({ fetchFn: fetch }).batch(CALLS)
    expect(direct).toEqual(byFetch)
    expect(asked.map(isByFetch)).toEqual([false, true])
    expect(asked.map((request) => request.url)).toEqual(['/path?key=1', '/path?key=1'])
  })

  test('no process listens at the port', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`
    const [direct, byFetch] = await Promise.all(
      [{}, { fetchFn: fetch }].map((options) => portOf({ url: nowhere, ...options }).batch(CALLS)),
    )
    expect(direct).toEqual(byFetch)
    expect(direct).toMatchObject(
      CALLS.map(() => ({ failure: { kind: 'network', message: 'fetch failed: ECONNREFUSED' } })),
    )
  })

  test('an encoding that was not requested is no answer', async () => {
    answer = (response, results) => {
      response.setHeader('content-encoding', 'br')
      response.end(results)
    }
    expect(await portOf().batch(CALLS)).toMatchObject(CALLS.map(() => ({ failure: { kind: 'network' } })))
  })

  test('it sends the same headers, except for the encodings', async () => {
    const url = portOf().name.replace('http://', 'http://user:secret@')
    const options = { url, fetchOptions: { headers: { 'X-Api': 'k' } } }
    await portOf(options).batch(CALLS)
    await portOf({ ...options, fetchFn: fetch }).batch(CALLS)
    const [direct, byFetch] = asked.map(({ headers: { 'accept-encoding': _, ...headers } }) => headers)
    expect(direct).toEqual(byFetch)
    expect(direct).toMatchObject({ 'x-api': 'k', authorization: `Basic ${btoa('user:secret')}` })
  })
})

describe('the HTTP client that is used', () => {
  test('is the dispatcher of Node’s fetch once that was called, not the fetch itself', async () => {
    const inner = Reflect.get(globalThis, DISPATCHER) as { dispatch(...parameters: unknown[]): boolean }
    const dispatch = vi.fn((...parameters: unknown[]) => inner.dispatch(...parameters))
    Reflect.set(globalThis, DISPATCHER, { dispatch })
    try {
      await portOf().batch(CALLS)
    } finally {
      Reflect.set(globalThis, DISPATCHER, inner)
    }
    expect(dispatch).toHaveBeenCalledOnce()
  })

  test('is a fetch that a program has put in its place', async () => {
    const own = globalThis.fetch
    const put = vi.fn(own)
    vi.stubGlobal('fetch', put)
    await portOf().batch(CALLS)
    expect(put).toHaveBeenCalledOnce()
  })

  test.each([
    { fetchOptions: { cache: 'no-store' } as const },
    { fetchOptions: { headers: { 'accept-encoding': 'br' } } },
  ])('is fetch for options that only fetch supports: %j', async (options) => {
    await portOf(options).batch(CALLS)
    expect(asked.map(isByFetch)).toEqual([true])
  })
})

describe('no caller waits for the answer any more', () => {
  const cut = (request: IncomingMessage) => new Promise((resolve) => request.socket.once('close', resolve))

  test('the timeout has passed: the connection is closed', async () => {
    const closed = new Promise((resolve) => {
      answer = (_, __, request) => void cut(request).then(resolve)
    })
    expect(await portOf({ timeoutMs: 50 }).batch(CALLS)).toMatchObject(
      CALLS.map(() => ({ failure: { kind: 'timeout' } })),
    )
    await closed
  })

  test('the port is closed while it connects: nothing is written', async () => {
    const read: string[] = []
    const silent = createSocketServer()
    const connected = new Promise<Socket>((resolve) => void silent.on('connection', resolve))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const port = portOf({ url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` })
    const replies = port.batch(CALLS)
    port.close()
    expect(await replies).toMatchObject(CALLS.map(() => ({ failure: { kind: 'network' } })))
    const socket = await connected
    socket.on('data', (bytes) => read.push(String(bytes)))
    await new Promise((resolve) => socket.once('close', resolve))
    expect(read).toEqual([])
    silent.close()
  })
})
