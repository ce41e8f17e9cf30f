import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { freePort } from '../../test/support/freePort.js'
import { memoryStore } from '../store/memory.js'
import { createOutbox } from './createOutbox.js'
import { DeliveryError } from './deliveryError.js'
import { blockOf, LANE, openOutboxes } from './outbox.fixture.js'
import type { Delivery } from './types.js'
import { verifyWebhook, type WebhookError, type WebhookErrorReason } from './verifyWebhook.js'
import { type WebhookOptions, type WebhookPayload, webhook } from './webhook.js'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const DELIVERY: Delivery = {
  key: 'txn_1',
  stage: 'sealed',
  number: 1,
  attempt: 1,
  tx: {
    id: 'order 1 "ü"',
    chainId: 1,
    stage: 'sealed',
    updatedAt: '2026-01-01T00:00:00.000Z',
  } as Delivery['tx'],
}

type Request = { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: Buffer }
type Answer = (response: ServerResponse, request: Request) => unknown

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** A receiver on loopback. A request without a scripted answer gets a 204. */
async function receiver(...answers: readonly Answer[]) {
  const left = [...answers]
  const requests: Request[] = []
  const server = createServer(async (incoming, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const request = { path: incoming.url ?? '', headers: incoming.headers, body: Buffer.concat(chunks) }
    requests.push(request)
    const answer = left.shift()
    if (answer) await answer(response, request)
    else response.writeHead(204).end()
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, requests }
}

const says =
  (status: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (response) =>
    response.writeHead(status, headers).end(body)

function post(port: number, over: Partial<WebhookOptions> = {}, delivery: Partial<Delivery> = {}) {
  const url = `http://user:pass%20word@127.0.0.1:${port}/hooks/tok3n?key=s3cret`
  const handler = webhook({ url, secret: SECRET, ...over })
  return Promise.resolve(handler({ ...DELIVERY, ...delivery }, { signal: new AbortController().signal }))
}

const failure = (posted: Promise<unknown>) =>
  posted.then(
    () => expect.unreachable('it was accepted'),
    (error: unknown) => error as DeliveryError,
  )

describe('a webhook', () => {
  test('posts the delivery as signed JSON, with the credentials of its URL in a header', async () => {
    const { port, requests } = await receiver()
    await post(port, { headers: { 'x-tenant': '7', 'webhook-id': 'forged' } })
    const [{ path, headers, body } = {} as Request] = requests
    expect(path).toBe('/hooks/tok3n?key=s3cret')
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from('user:pass word').toString('base64')}`,
      'x-tenant': '7',
      'webhook-id': 'txn_1',
    })
    const payload = await verifyWebhook({ body, headers, secret: SECRET })
    const { attempt: _, ...data } = DELIVERY
    expect(payload).toEqual({ type: 'transaction.sealed', timestamp: DELIVERY.tx.updatedAt, data })
  })

  test('signs with each of several secrets, so that a receiver with one of them accepts it', async () => {
    const { port, requests } = await receiver()
    await post(port, { secret: [OTHER, SECRET] })
    const { headers, body } = requests[0] as Request
    for (const secret of [OTHER, SECRET]) await verifyWebhook({ body, headers, secret })
  })

  test.each([
    [500, {}, false],
    [503, { 'retry-after': '7' }, false, 7_000],
    [408, {}, false],
    [425, {}, false],
    [429, { 'retry-after': '120' }, false, 120_000],
    [410, {}, true],
    [404, {}, false],
    [302, { location: '/elsewhere' }, false],
  ] as const)(
    'is refused with %d %j: final is %s',
    async (status, headers, isFinal, retryAfterMs?: number) => {
      const { port } = await receiver(says(status, headers, 'It is\n no.'))
      const error = await failure(post(port))
      expect(error).toBeInstanceOf(DeliveryError)
      expect(error).toMatchObject({ isFinal, retryAfterMs })
      expect(error.message).toBe(
        `http://127.0.0.1:${port} answered with the HTTP status ${status}: It is no.`,
      )
    },
  )

  test.each([
    [404, 3, true],
    [404, 2, false],
    [302, 3, true],
    [500, 99, false],
    [429, 99, false],
  ])('with %d at try %d of 3 is given up: %s', async (status, attempt, isFinal) => {
    const { port } = await receiver(says(status))
    expect(await failure(post(port, { triesMax: 3 }, { attempt }))).toMatchObject({ isFinal })
  })

  test('follows no redirect: neither another host nor another path gets the body', async () => {
    const elsewhere = await receiver()
    const { port, requests } = await receiver(
      says(307, { location: `http://127.0.0.1:${elsewhere.port}/steal` }),
      says(308, { location: '/steal' }),
    )
    expect((await failure(post(port))).message).toContain('307')
    expect((await failure(post(port))).message).toContain('308')
    expect(elsewhere.requests).toEqual([])
    expect(requests).toHaveLength(2)
  })

  test("fails with the system's error if the connection is refused", async () => {
    const port = await freePort()
    const error = await failure(post(port))
    expect(error.message).toBe(`http://127.0.0.1:${port} could not be reached: ECONNREFUSED.`)
    expect(error.isFinal).toBe(false)
  })

  test('fails if the connection is cut', async () => {
    const { port } = await receiver((response) => response.destroy())
    expect((await failure(post(port))).message).toContain('could not be reached')
  })

  test('fails after its timeout, and when the outbox aborts it', async () => {
    const { port } = await receiver(
      () => {},
      () => {},
    )
    expect((await failure(post(port, { timeoutMs: 50 }))).message).toContain('did not answer in 50 ms')
    const controller = new AbortController()
    const handler = webhook({ url: `http://127.0.0.1:${port}/`, secret: SECRET })
    const posted = failure(Promise.resolve(handler(DELIVERY, { signal: controller.signal })))
    controller.abort()
    expect(await posted).toBeInstanceOf(DeliveryError)
  })

  test('reads only the quoted part of an answer: neither an endless nor a slow one delays it', async () => {
    let written = 0
    const endless: Answer = (response) => {
      response.writeHead(500)
      const more = () => {
        let isTaken = true
        while (isTaken && !response.destroyed) {
          isTaken = response.write('x'.repeat(65_536))
          written += 65_536
        }
      }
      response.on('drain', more)
      more()
    }
    const slow: Answer = (response) => response.writeHead(500).write('begins')
    const accepted: Answer = (response) => response.writeHead(200).write('never ends')
    const { port } = await receiver(endless, slow, accepted)
    const { message } = await failure(post(port))
    expect(message).toMatch(/HTTP status 500: x{200}$/)
    expect(written).toBeLessThan(16 * 2 ** 20)
    expect((await failure(post(port, { timeoutMs: 50 }))).message).toContain('did not answer in 50 ms')
    await post(port)
  })

  test('shows neither the secret nor the part of the URL after the host', async () => {
    const echo: Answer = (response, { path, headers }) =>
      response.writeHead(400).end(`${path} https://x:y@z.example/tok3n?key=s3cret ${headers.authorization}`)
    const { port } = await receiver(echo, says(500))
    const { clock, put, started } = openOutboxes()
    const url = `http://user:pass%20word@127.0.0.1:${port}/hooks/tok3n?key=s3cret`
    const handler = webhook({ url, secret: SECRET })
    let posted: Promise<unknown> = Promise.resolve()
    const { outbox, store } = await started({
      triesMax: 1,
      onStage: (...of) => {
        posted = Promise.resolve(handler(...of))
        return posted
      },
    })
    await put('a', { stage: 'failed' })
    await clock.advance(1_100)
    await posted.catch(() => {})
    await clock.settle()
    const seen = JSON.stringify([
      await outbox.snapshot(),
      await store.deliveries('orders', { state: 'dead', limit: 9 }),
    ])
    expect(seen).toContain('HTTP status 400')
    for (const hidden of ['tok3n', 's3cret', 'pass', SECRET.slice(8), 'dXNlc'])
      expect(seen).not.toContain(hidden)
  })

  test.each([
    ['url', { url: 'example.com/tok3n' }],
    ['url', { url: 'ftp://user:tok3n@example.com' }],
    ['url', { url: 7 }],
    ['secret', { secret: 'tok3n' }],
    ['secret', { secret: `whsec_${Buffer.from('tok3n').toString('base64')}` }],
    ['secret', { secret: [] }],
    ['secret[1]', { secret: [SECRET, 'tok3n'] }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['triesMax', { triesMax: 1.5 }],
    ['headers', { headers: { 'bad name': 'tok3n' } }],
    ['fetchFn', { fetchFn: 'fetch' }],
    ['options.secrets', { secrets: 'x' }],
  ])('is INVALID with a wrong %s, and shows nothing of it', (argument, over) => {
    const make = () => webhook({ url: 'https://example.com/', secret: SECRET, ...over } as WebhookOptions)
    expect(make).toThrow(argument)
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID' }))
    expect(make).not.toThrow('tok3n')
  })
})

describe('a request is accepted', () => {
  const NOW_S = 1_614_265_330
  // From the tests of the Standard Webhooks libraries.
  const KNOWN = {
    body: '{"test": 2432232314}',
    headers: {
      'Webhook-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': String(NOW_S),
      'webhook-signature': 'v1a,abc= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    nowMs: NOW_S * 1_000,
  }
  const reasonOf = (over: object) =>
    verifyWebhook({ ...KNOWN, ...over }).then(
      () => 'believed',
      (error: unknown) => (error as WebhookError).reason,
    )

  test('if the Standard Webhooks libraries signed it', async () => {
    expect(await verifyWebhook(KNOWN)).toEqual({ test: 2432232314 })
    expect(await reasonOf({ headers: new Headers(KNOWN.headers) })).toBe('believed')
    expect(await reasonOf({ body: Buffer.from(KNOWN.body) })).toBe('believed')
    expect(await reasonOf({ secret: [SECRET, KNOWN.secret] })).toBe('believed')
  })

  const without = (name: string) =>
    Object.fromEntries(Object.entries(KNOWN.headers).filter(([key]) => key !== name))
  test.each<[string, object, WebhookErrorReason]>([
    ['with another secret', { secret: SECRET }, 'signature'],
    ['with another body', { body: '{"test": 2432232315}' }, 'signature'],
    ['with another id', { headers: { ...KNOWN.headers, 'Webhook-Id': 'msg_x' } }, 'signature'],
    [
      'with another time',
      { headers: { ...KNOWN.headers, 'webhook-timestamp': `${NOW_S + 1}` } },
      'signature',
    ],
    [
      'with half a signature',
      { headers: { ...KNOWN.headers, 'webhook-signature': 'v1,g0hM9SsE' } },
      'signature',
    ],
    ['with another version', { headers: { ...KNOWN.headers, 'webhook-signature': 'v2,g0hM' } }, 'signature'],
    ['with no base64', { headers: { ...KNOWN.headers, 'webhook-signature': 'v1,%%%' } }, 'signature'],
    ['recorded six minutes ago', { nowMs: (NOW_S + 360) * 1_000 }, 'timestamp'],
    ['from the future', { nowMs: (NOW_S - 360) * 1_000 }, 'timestamp'],
    ['without an id', { headers: without('Webhook-Id') }, 'missing'],
    ['without a time', { headers: without('webhook-timestamp') }, 'missing'],
    ['without a signature', { headers: without('webhook-signature') }, 'missing'],
  ])('but not %s', async (_, over, reason) => {
    expect(await reasonOf(over)).toBe(reason)
  })

  test('within the given tolerance', async () => {
    expect(await reasonOf({ nowMs: (NOW_S + 360) * 1_000, toleranceMs: 400_000 })).toBe('believed')
    expect(await reasonOf({ nowMs: (NOW_S + 2) * 1_000, toleranceMs: 1_000 })).toBe('timestamp')
  })

  test.each([
    ['toleranceMs', { toleranceMs: -1 }],
    ['secret', { secret: 'tok3n' }],
    ['body', { body: { test: 1 } }],
    ['headers', { headers: undefined }],
  ])('or is INVALID with a wrong %s', async (argument, over) => {
    const error = await verifyWebhook({ ...KNOWN, ...over } as never).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'INVALID' })
    expect(String(error)).toContain(argument)
    expect(String(error)).not.toContain('tok3n')
  })
})

test('an outbox posts until the receiver accepts, in order, with one key', async () => {
  const { port, requests } = await receiver(
    says(500),
    says(429, { 'retry-after': '1' }),
    says(404),
    says(200),
  )
  const store = memoryStore()
  const outbox = createOutbox({
    store,
    name: 'orders',
    logger: false,
    retryMinMs: 5,
    onStage: webhook({ url: `http://127.0.0.1:${port}/`, secret: SECRET }),
  })
  await outbox.ready()
  const { put } = openOutboxes(store)
  await put('a', { stage: 'finalized', verdict: 'landed', block: blockOf('1') })
  await expect.poll(async () => requests.length, { timeout: 20_000 }).toBe(5)
  await outbox.close()
  const payloads = await Promise.all(
    requests.map(({ body, headers }) => verifyWebhook({ body, headers, secret: SECRET })),
  )
  expect(payloads.map(({ type }: WebhookPayload) => type)).toEqual([
    ...Array.from({ length: 4 }, () => 'transaction.sealed'),
    'transaction.finalized',
  ])
  expect(new Set(payloads.map(({ data }) => data.key)).size).toBe(2)
  expect((await outbox.snapshot()).waiting).toBe(0)
  const { chainId, genesisHash } = LANE
  expect(await store.deliveries('orders', { chain: { chainId, genesisHash }, ids: ['a'] })).toMatchObject([
    { state: 'delivered', count: 2 },
  ])
})
