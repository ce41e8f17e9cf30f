import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { RpcCall } from '../port.js'
import { createHttpPort, type HttpPortOptions } from './http.js'

type Posted = { url: string; init: RequestInit; body: { id: number; method: string }[] }

/** A port over a `fetch` that answers each call with its method, unless told otherwise. */
function setUp(
  options: Partial<HttpPortOptions> = {},
  answer?: (posted: Posted) => Response | Promise<Response>,
) {
  const clock = createVirtualClock()
  const posted: Posted[] = []
  const fetchFn = (async (url: string, init: RequestInit) => {
    const body = [JSON.parse(String(init.body))].flat() as Posted['body']
    const post = { url, init, body }
    posted.push(post)
    return answer ? answer(post) : Response.json(echo(post))
  }) as unknown as typeof fetch
  const port = createHttpPort({ url: 'http://localhost:8545', clock, fetchFn, ...options })
  return { port, clock, posted }
}

const echo = ({ body }: Posted) => body.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: method }))
const one: RpcCall = { method: 'eth_chainId', params: [] }
const two: RpcCall = { method: 'eth_blockNumber', params: [] }
const never = () => new Promise<Response>(() => {})

describe('the HTTP port', () => {
  test('posts a batch as one request and answers by position', async () => {
    const { port, posted } = setUp()
    expect(await port.batch([one, two])).toEqual([
      { ok: true, result: 'eth_chainId' },
      { ok: true, result: 'eth_blockNumber' },
    ])
    expect(posted).toHaveLength(1)
    expect(port.stats).toEqual({ requests: 1, calls: 2 })
  })

  test('never uses an id twice', async () => {
    const { port, posted } = setUp()
    await Promise.all([port.batch([one, two]), port.batch([one, two]), port.batch([one])])
    const ids = posted.flatMap(({ body }) => body.map(({ id }) => id))
    expect(new Set(ids).size).toBe(5)
  })

  test('posts nothing for no calls', async () => {
    const { port, posted } = setUp()
    expect(await port.batch([])).toEqual([])
    expect(posted).toEqual([])
  })

  test('gives up after the time that was set, even on a fetch that does not look at its signal', async () => {
    const { port, clock } = setUp({ timeoutMs: 500 }, never)
    const replies = port.batch([one, two])
    await clock.advance(499)
    expect(await Promise.race([replies, 'waiting'])).toBe('waiting')
    await clock.advance(1)
    const failure = { kind: 'timeout', message: 'no answer within 500 ms' }
    expect(await replies).toEqual([
      { ok: false, failure },
      { ok: false, failure },
    ])
  })

  test('leaves no timer behind once it was answered', async () => {
    const { port, clock } = setUp()
    await port.batch([one])
    expect(clock.pendingTimers).toBe(0)
  })

  test('writes nothing when it is given up before, and cannot tell when it is given up after', async () => {
    const { port, posted } = setUp({}, never)
    const [before] = await port.batch([one], { signal: AbortSignal.abort() })
    expect(before).toMatchObject({ ok: false, failure: { kind: 'aborted' } })
    expect(posted).toEqual([])
    const controller = new AbortController()
    const after = port.batch([one], { signal: controller.signal })
    controller.abort()
    expect(await after).toMatchObject([{ ok: false, failure: { kind: 'network' } }])
  })

  test('answers open calls with `network` and later ones with `aborted` when it is closed', async () => {
    const { port } = setUp({}, never)
    const open = port.batch([one])
    port.close()
    expect(await open).toMatchObject([{ failure: { kind: 'network' } }])
    expect(await port.batch([one])).toMatchObject([{ failure: { kind: 'aborted' } }])
  })

  test.each([
    ['2', 2000],
    ['1.5', 1500],
    [new Date(1_750_000_000_000 + 3000).toUTCString(), 3000],
    ['soon', undefined],
  ])('tells the status and that Retry-After was %s', async (header, retryAfterMs) => {
    const { port } = setUp(
      {},
      () => new Response('slow down', { status: 429, headers: { 'retry-after': header } }),
    )
    const [reply] = await port.batch([one])
    expect(reply).toEqual({
      ok: false,
      failure: { kind: 'http', status: 429, message: 'HTTP 429', ...(retryAfterMs ? { retryAfterMs } : {}) },
    })
  })

  test('keeps the JSON-RPC error beside the status', async () => {
    const error = { code: -32016, message: 'over rate limit' }
    const { port } = setUp({}, () => Response.json({ jsonrpc: '2.0', id: null, error }, { status: 429 }))
    expect(await port.batch([one, two])).toMatchObject([
      { failure: { kind: 'http', status: 429, rpc: error } },
      { failure: { kind: 'http', status: 429, rpc: error } },
    ])
  })

  test('keeps each call’s own answer under an error status', async () => {
    const { port } = setUp({}, ({ body }) =>
      Response.json(
        [
          { id: body[0]?.id, error: { code: 3, message: 'no' } },
          { id: body[1]?.id, result: 'yes' },
        ],
        {
          status: 500,
        },
      ),
    )
    expect(await port.batch([one, two])).toMatchObject([
      { ok: false, failure: { kind: 'http', status: 500, rpc: { code: 3, message: 'no' } } },
      { ok: true, result: 'yes' },
    ])
  })

  test.each([
    ['<html>busy</html>', 'a body that is not JSON'],
    [
      '<html><head><title>\n502 Bad Gateway</title>',
      'a body that is not JSON: a page titled "502 Bad Gateway"',
    ],
    ['', 'an empty body'],
    ['  ', 'an empty body'],
    ['{"jsonrpc":"2.0","id":1,"resu', 'a body that is not JSON'],
  ])('calls %j with status 200 malformed', async (text, message) => {
    const { port } = setUp({}, () => new Response(text, { status: 200 }))
    expect(await port.batch([one])).toEqual([{ ok: false, failure: { kind: 'malformed', message } }])
  })

  test('does not follow a redirect: the same bytes would go to another place', async () => {
    const { port, posted } = setUp(
      {},
      () => new Response(null, { status: 307, headers: { location: '/other' } }),
    )
    expect(await port.batch([one])).toMatchObject([{ failure: { kind: 'http', status: 307 } }])
    expect(posted[0]?.init.redirect).toBe('manual')
  })

  test('never rejects: what fetch throws, or cannot be encoded, is a `network` failure', async () => {
    const { port } = setUp({}, () => {
      throw Object.assign(new TypeError('fetch failed'), {
        cause: Object.assign(new Error(), { code: 'ECONNRESET' }),
      })
    })
    const message = 'fetch failed: ECONNRESET'
    expect(await port.batch([one])).toEqual([{ ok: false, failure: { kind: 'network', message } }])
    expect(await port.batch([{ method: 'm', params: [1n] }])).toMatchObject([
      { failure: { kind: 'network' } },
    ])
  })

  test('sends the headers given, and the user and password of the URL as Basic authorization', async () => {
    const { port, posted } = setUp({
      url: 'http://us%65r:secret@localhost:8545/key?token=1',
      fetchOptions: { headers: { 'x-api': 'k' }, credentials: 'include' },
    })
    await port.batch([one])
    const { url, init } = posted[0]!
    expect(url).toBe('http://localhost:8545/key?token=1')
    const headers: Record<string, string> = {}
    new Headers(init.headers).forEach((value, name) => {
      headers[name] = value
    })
    expect(headers).toEqual({
      authorization: `Basic ${btoa('user:secret')}`,
      'content-type': 'application/json',
      'x-api': 'k',
    })
    expect(init).toMatchObject({ method: 'POST', credentials: 'include' })
  })

  test('is named by the origin of its URL: path, query and password are not shown', () => {
    const { port } = setUp({ url: 'https://user:secret@node.example:8545/v2/key?token=1' })
    expect(port.name).toBe('https://node.example:8545')
  })
})
