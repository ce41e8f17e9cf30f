import {
  createWalletClient,
  custom,
  fallback,
  HttpRequestError,
  http,
  parseAbi,
  type Transport,
  webSocket,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSender, memoryStore, type Sender } from '../../src/index.js'
import type { SenderEvents, Tx } from '../../src/types/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { type Script, type ScriptedServer, startScriptedServer } from './scriptedServer.js'
import { KEY, secretsOf, secretUrl } from './secrets.js'

const account = privateKeyToAccount(KEY)
const abi = parseAbi(['function set(uint256)', 'error Refused(uint256)'])
const to = '0x00000000000000000000000000000000000000aa'

/** Records everything that leaves a sender: rejections, thrown errors, events and logs. */
function observed() {
  const seen: { how: string; value: unknown }[] = []
  const log = (level: string) => (fields: object, message?: string) =>
    void seen.push({ how: `logger.${level}`, value: { fields, message } })
  const events = [
    'queued',
    'signed',
    'accepted',
    'failed',
    'cancelled',
    'rebroadcast',
    'stuck',
    'feeCeiling',
    'foreign',
    'displaced',
    'unresolved',
    'gap',
    'gapFilled',
    'held',
    'released',
    'endpoint',
    'leaseLost',
    'error',
  ] as const satisfies readonly (keyof SenderEvents)[]
  return {
    seen,
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    listen(sender: Sender) {
      for (const event of events)
        sender.on(event, (value: unknown) => void seen.push({ how: event, value: reported(value) }))
    },
    /** Runs the function, and records its error or returns its result. */
    async caught<T>(how: string, run: () => T): Promise<Awaited<T> | undefined> {
      try {
        const value = await run()
        seen.push({ how: `${how} resolved`, value: reported(value) })
        return value
      } catch (error) {
        seen.push({ how, value: error })
        return undefined
      }
    },
    leaks: () =>
      seen.flatMap(({ how, value }) => secretsOf(value).map(({ at, what }) => `${how}, ${at}: ${what}`)),
    rejected: () => seen.filter(({ value }) => value instanceof Error),
  }
}

/** A Tx as a caller would print it. */
function reported(value: unknown): unknown {
  const tx = (value as { tx?: Tx } | undefined)?.tx ?? (value as Tx | undefined)
  return typeof tx?.toJSON === 'function' ? { value, json: tx.toJSON(), attempts: tx.attempts } : value
}

const chainOf = (url: string) => ({
  id: 31_337,
  name: 'local',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [url] } },
})

const limits = {
  readTimeoutMs: 250,
  readyTimeoutMs: 500,
  sendTimeoutMs: 250,
  closeTimeoutMs: 100,
  gapFillAfterMs: 50,
  pollIntervalMs: 50,
}

function senderOf(
  transport: Transport,
  url: string,
  seen: ReturnType<typeof observed>,
  signer = account,
): Sender {
  const client = createWalletClient({ account: signer, chain: chainOf(url), transport })
  const sender = createSender({
    client,
    store: memoryStore(),
    coldStart: 'immediate',
    lossDepth: 'child',
    limits,
    logger: seen.logger,
  }) as unknown as Sender
  seen.listen(sender)
  return sender
}

// Run concurrently, with one server each: a failing opening retries and takes its time.
describe.concurrent('an error about a node that fails in every way never quotes its key', () => {
  const error =
    (message: string, code = -32000): Script =>
    (request) => ({
      body: request.isBatch
        ? request.calls.map(({ id }) => ({
            jsonrpc: '2.0',
            id,
            error: { code, message, data: { url: message } },
          }))
        : { jsonrpc: '2.0', id: request.calls[0]?.id, error: { code, message } },
    })
  const failures: Readonly<Record<string, (url: string) => Script>> = {
    'the connection breaks': () => () => 'reset',
    'nothing is answered': () => () => 'hang',
    'HTTP 401 that quotes the URL': (url) => () => ({ status: 401, body: `unauthorized: ${url}` }),
    'HTTP 403 with an error object': (url) => () => ({
      status: 403,
      body: { jsonrpc: '2.0', id: null, error: { code: -32600, message: `${url} is not allowed` } },
    }),
    'HTTP 429': (url) => () => ({ status: 429, headers: { 'retry-after': '1' }, body: `slow down ${url}` }),
    'HTTP 500 with a page': (url) => () => ({
      status: 500,
      body: `<html><a href="${url}">${url}</a></html>`,
    }),
    'a redirect': (url) => () => ({ status: 302, headers: { location: url }, body: '' }),
    'a JSON-RPC error that quotes the URL': (url) => error(`rate limit for ${url}`, -32016),
    'an answer that is no JSON': (url) => () => ({ body: `not json ${url}` }),
    'an answer of another shape': (url) => () => ({ body: { result: { url } } }),
    'another chain': () => (request) => ({
      body: request.calls.map(({ id }) => ({ jsonrpc: '2.0', id, result: '0x1' })),
    }),
  }
  const transports: Readonly<Record<string, (urls: { http: string; ws: string }) => Transport>> = {
    http: (urls) => http(urls.http, { fetchOptions: { headers: { 'x-api-key': 'headerKey6' } } }),
    fallback: (urls) => fallback([http(urls.http), http(`${urls.http}#2`)]),
    webSocket: (urls) => webSocket(urls.ws, { reconnect: false, retryCount: 0, timeout: 250 }),
    custom: (urls) => custom({ request: () => Promise.reject(httpErrorAt(urls.http)) }),
    'a custom one over http': (urls) => {
      const inner = createWalletClient({ transport: http(urls.http, { retryCount: 0, timeout: 250 }) })
      return custom({ request: inner.request as never })
    },
  }
  /** Every operation that a caller may try on a sender that makes no progress. */
  async function tryEverything(sender: Sender, seen: ReturnType<typeof observed>): Promise<void> {
    await seen.caught('ready', () => sender.ready())
    await Promise.all([
      seen.caught('send', () => sender.send({ to, value: 1n })),
      seen.caught('writeContract', () =>
        sender.writeContract({ abi, address: to, functionName: 'set', args: [1n] } as never),
      ),
      seen.caught('sendMany', () => results(sender.sendMany([{ request: { to, value: 1n } }]))),
      seen.caught('snapshot', () => sender.snapshot()),
      seen.caught('get', () => sender.get('x')),
    ])
    await seen.caught('close', () => sender.close())
  }

  describe.each(Object.entries(failures))('%s', (_, failure) => {
    it.each(Object.entries(transports))('over %s', async (__, transport) => {
      await using server = await startScriptedServer(() => 'reset')
      const urls = { http: secretUrl(server.url), ws: `${server.wsUrl}/v2/pathKey3?key=queryKey4` }
      server.script(failure(urls.http))
      const seen = observed()
      await tryEverything(senderOf(transport(urls), urls.http, seen), seen)
      expect(seen.leaks()).toEqual([])
      expect(seen.rejected().map(({ value }) => (value as Error).name)).toContain('TxlaneError')
    })
  })
})

describe('an error about a node that mishandles transactions never quotes its key', () => {
  let devnet: Devnet
  let server: ScriptedServer
  let next = 0
  beforeAll(async () => {
    devnet = await startDevnet({ blockTimeMs: 200, flashblockMs: 100 })
    server = await startScriptedServer(() => 'reset')
  })
  afterAll(async () => {
    await server.close()
    await devnet.stop()
  })

  /** The devnet behind the keyed URL. Calls of the given method are answered with the given error. */
  const behind =
    (refused: string, failure: { code: number; message: string; data?: unknown }): Script =>
    async ({ calls, isBatch }) => {
      const bodies = calls.map((call) => ({ jsonrpc: '2.0', ...call }))
      const response = await fetch(devnet.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(bodies.filter(({ method }) => method !== refused)),
      }).catch(() => undefined)
      // The devnet may close a kept-alive connection just when it is used again; then the proxy does the
      // same.
      if (response === undefined) return 'reset'
      const answered = bodies.some(({ method }) => method !== refused)
        ? ((await response.json()) as { id: unknown }[])
        : []
      const byId = new Map([answered].flat().map((answer) => [answer.id, answer]))
      const answers = bodies.map(({ id }) => byId.get(id) ?? { jsonrpc: '2.0', id, error: failure })
      return { body: isBatch ? answers : answers[0] }
    }

  const refusals = [
    {
      name: 'the estimate reverts',
      method: 'eth_estimateGas',
      code: 3,
      text: 'execution reverted',
      ends: 'PREPARE_REVERTED',
    },
    {
      name: 'the estimate fails',
      method: 'eth_estimateGas',
      code: -32000,
      text: 'internal error',
      ends: 'WAIT_TIMEOUT',
    },
    {
      name: 'the bytes are refused for good',
      method: 'eth_sendRawTransaction',
      code: -32000,
      text: 'invalid transaction v, r, s values',
      ends: 'REJECTED',
    },
    {
      name: 'the bytes are refused for no known reason',
      method: 'eth_sendRawTransaction',
      code: -32603,
      text: 'something broke',
      ends: 'WAIT_TIMEOUT',
    },
  ]

  it.each(refusals)('$name', async ({ method, code, text, ends }) => {
    const url = secretUrl(server.url)
    server.script(behind(method, { code, message: `${text}: see ${url}`, data: `0x${'00'.repeat(4)}` }))
    const seen = observed()
    const signer = devnet.accounts[next++]
    const sender = senderOf(http(url), url, seen, signer as never)
    await seen.caught('ready', () => sender.ready())
    const signal = () => AbortSignal.timeout(700)
    const estimated = seen.caught('send, estimated', () =>
      sender.send({ to, value: 1n }, { signal: signal() }),
    )
    const given = seen.caught('send, given', () =>
      sender.send({ to, value: 1n, gas: 21_000n }, { signal: signal() }),
    )
    const call = seen.caught('writeContract', () =>
      sender.writeContract({ abi, address: to, functionName: 'set', args: [1n] } as never, {
        signal: signal(),
      }),
    )
    const tx = await seen.caught('send, queued', () => sender.send({ to, value: 1n }, { until: 'queued' }))
    await seen.caught('wait', () => tx?.wait('sealed', { timeoutMs: 600 }))
    await seen.caught('speedUp', () => tx?.speedUp())
    await seen.caught('snapshot', async () => JSON.stringify(await sender.snapshot(), bigints))
    await Promise.all([estimated, given, call])
    await seen.caught('close', () => sender.close())
    expect(seen.leaks()).toEqual([])
    expect(seen.rejected().map(({ value }) => (value as { code?: string }).code)).toContain(ends)
  })
})

describe('an error about a misplaced private key does not repeat the key', () => {
  const client = createWalletClient({
    account,
    chain: chainOf('http://127.0.0.1:1'),
    transport: http('http://127.0.0.1:1'),
  })
  const places: Readonly<Record<string, () => unknown>> = {
    'as the account': () => createSender({ client, account: KEY as never }),
    'as the client': () => createSender({ client: KEY as never, account }),
    'as the store': () => createSender({ client, store: KEY as never }),
    'as an option': () => createSender({ client, coldStart: KEY as never }),
    'as the receiver': () => createSender({ client }).send({ to: KEY }),
    'as the data': () => createSender({ client }).send({ to, data: `${KEY}zz` as never }),
    'as the value': () => createSender({ client }).send({ to, value: KEY as never }),
    'as the stage': () => createSender({ client }).send({ to }, { until: KEY as never }),
    'as a hash': () => createSender({ client }).get({ hash: KEY.slice(2) as never }),
    'as items': () => results(createSender({ client }).sendMany(KEY as never)),
  }
  it.each(Object.entries(places))('%s', async (_, run) => {
    const seen = observed()
    await seen.caught('it', run)
    expect(seen.rejected()).toHaveLength(1)
    expect(seen.leaks()).toEqual([])
  })
})

function httpErrorAt(url: string): Error {
  return new HttpRequestError({
    body: { method: 'eth_chainId' },
    details: `at ${url}`,
    url,
    cause: new Error(url),
  })
}

async function results(items: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const all: unknown[] = []
  for await (const item of items) all.push(item)
  return all
}

function bigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
