import { readFile } from 'node:fs/promises'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { accountKey } from '../../tools/devnet/accounts.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { EXAMPLE_TIMEOUT_MS, type ExampleProcess, startExample } from '../support/exampleProcess.js'
import { freePort } from '../support/freePort.js'
import { type HookReceiver, startHookReceiver } from '../support/hookReceiver.js'
import { pause } from '../support/pause.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import {
  askRelayer,
  type CallerEntry,
  digestOf,
  type RelayerAnswer,
  type RelayerFiles,
  relayerFiles,
} from '../support/relayer.js'
import { shortTags } from '../support/shortTags.js'
import { rpc } from './devnetSupport.js'

vi.setConfig({ testTimeout: EXAMPLE_TIMEOUT_MS })

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ENDED = ['sealed', 'safe', 'finalized', 'failed', 'cancelled']

let devnet: Devnet
let postgres: TestPostgres
let files: RelayerFiles
let receiver: HookReceiver

beforeAll(async () => {
  ;[devnet, postgres, files, receiver] = await Promise.all([
    startDevnet({ blockTimeMs: 400, flashblockMs: 200, ...shortTags(400) }),
    startPostgres(),
    relayerFiles(),
    startHookReceiver(SECRET),
  ])
  await files.writeCallers(callers())
  await files.writeKeys([accountKey(0)])
})
afterAll(async () => {
  await Promise.all([devnet?.stop(), postgres?.stop()])
  await files?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
})

function callers(): CallerEntry[] {
  const webhook = { url: receiver.url, secret: SECRET }
  return [
    { name: 'alice', keys: [digestOf('open-sesame')], valueMax: '1000', webhook },
    { name: 'bob', keys: [digestOf('other-word')], valueMax: '1000' },
    { name: 'carol', keys: [digestOf('third')], targets: [to], gasMax: '50000', requestsPerSecond: 1 },
  ]
}

type Relayer = { readonly process: ExampleProcess; readonly url: string; readonly metricsUrl: string }

async function start(): Promise<Relayer> {
  const metricsPort = await freePort()
  const process = startExample('relayer/server.ts', {
    RPC_URL: devnet.url,
    CHAIN_ID: String(devnet.chain.id),
    DATABASE_URL: postgres.connectionString,
    ...files.environment,
    PORT: '0',
    METRICS_PORT: String(metricsPort),
  })
  const [, url = ''] = await process.line(/Server listening at (http:\/\/127\.0\.0\.1:\d+)/)
  return { process, url, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` }
}

const to = '0x1111111111111111111111111111111111111111'
const nonces = async (index = 0) =>
  Number(await rpc<string>(devnet.url, 'eth_getTransactionCount', devnet.accounts[index]!.address, 'latest'))

const post = (
  { url }: Relayer,
  key: string | undefined,
  body: object | string,
  token = 'open-sesame',
  query = '',
) => askRelayer(url, token, `/v1/transactions${query}`, { body, ...(key === undefined ? {} : { key }) })
const look = ({ url }: Relayer, key: string, token = 'open-sesame') =>
  askRelayer(url, token, `/v1/transactions/${key}`)

/** The ids of a caller's own transactions. */
async function listed({ url }: Relayer, token: string): Promise<readonly string[] | undefined> {
  return (await askRelayer(url, token, '/v1/transactions')).body.items?.map(({ id }) => id)
}

/** Polls until the transaction has ended. */
async function ended(relayer: Relayer, key: string): Promise<RelayerAnswer['body']> {
  for (;;) {
    const { body } = await look(relayer, key)
    if (ENDED.includes(body.stage ?? '')) return body
    await pause(50)
  }
}

/** Polls until the transaction is in a sealed block. */
async function sealed(relayer: Relayer, key: string): Promise<{ hash: Hex; nonce: number; from: Hex }> {
  const { stage, hash, nonce, from } = await ended(relayer, key)
  if (hash === undefined || nonce === undefined || from === undefined) throw new Error(`${key} is ${stage}`)
  return { hash, nonce, from }
}

test('two processes: one key is one transaction, another body a conflict, and an unknown caller is refused', async () => {
  const [one, two] = await Promise.all([start(), start()])
  await using _one = one.process
  await using _two = two.process
  const before = await nonces()
  const call = { to, value: '1', gas: '21000' }
  const answers = await Promise.all([one, two, one, two].map((relayer) => post(relayer, 'order-1', call)))
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202])
  expect(new Set(answers.map(({ body }) => body.id))).toEqual(new Set(['alice/order-1']))
  expect(answers[0]?.headers.get('location')).toBe('/v1/transactions/order-1')
  expect([await listed(two, 'open-sesame'), await listed(one, 'other-word')]).toEqual([['alice/order-1'], []])
  const seen = await Promise.all([sealed(one, 'order-1'), sealed(two, 'order-1')])
  expect(seen[0]).toMatchObject({ hash: seen[1]?.hash })
  expect(await nonces()).toBe(before + 1)

  expect(await post(one, 'order-1', { ...call, value: '2' })).toMatchObject({
    status: 409,
    body: { code: 'ID_CONFLICT' },
  })
  // The same key of another caller is a different transaction.
  expect(await post(two, 'order-1', { ...call, value: '2' }, 'other-word')).toMatchObject({
    status: 202,
    body: { id: 'bob/order-1' },
  })
  for (const token of ['', 'open-sesam', 'other-word2']) {
    expect((await post(one, 'order-2', call, token)).status).toBe(401)
  }
  const wrong = [{}, { to: '0x1' }, { to, value: '-1' }, { to, more: 1 }, { to, data: '0x1' }]
  for (const body of wrong) expect((await post(one, 'order-2', body)).status, JSON.stringify(body)).toBe(400)
  expect((await post(one, undefined, call)).status).toBe(400)

  for (const { process } of [one, two]) {
    process.kill('SIGTERM')
    expect(await process.ended).toMatchObject({ code: 0 })
  }
})

test('a process is killed: its accepted requests are finished by the other one, each once', async () => {
  const victim = await start()
  await using _victim = victim.process
  const call = (index: number) => ({ to, value: String(index), gas: '21000' })
  // The victim owns the lane before the other process starts.
  expect((await post(victim, 'first', call(1))).status).toBe(202)
  await sealed(victim, 'first')
  const other = await start()
  await using _other = other.process
  const before = await nonces()
  const keys = Array.from({ length: 20 }, (_, index) => `left-${index}`)
  const taken = await Promise.all(keys.map((key, index) => post(victim, key, call(index))))
  victim.process.kill('SIGKILL')
  expect(taken.map(({ status }) => status)).toEqual(keys.map(() => 202))
  const landed: number[] = []
  for (const key of keys) landed.push((await sealed(other, key)).nonce)
  expect(new Set(landed).size).toBe(20)
  expect(await nonces()).toBe(before + 20)
})

test('the database is down: 503, and the same key is accepted once when it is back', async () => {
  const relayer = await start()
  await using _relayer = relayer.process
  const before = await nonces()
  const call = { to, value: '3', gas: '21000' }
  await postgres.kill()
  const refused = await post(relayer, 'order-9', call)
  expect(refused).toMatchObject({ status: 503 })
  expect(refused.headers.get('retry-after')).toBe('1')
  await postgres.start()
  let answer = await post(relayer, 'order-9', call)
  while (answer.status === 503) {
    await pause(50)
    answer = await post(relayer, 'order-9', call)
  }
  expect(answer.status).toBe(202)
  await sealed(relayer, 'order-9')
  expect(await nonces()).toBe(before + 1)
})

describe('one process', () => {
  let relayer: Relayer
  beforeAll(async () => {
    relayer = await start()
  })
  afterAll(async () => {
    relayer?.process.kill('SIGTERM')
    await relayer?.process.ended
  })

  test('a caller may send only as the file allows: 403 with the reason, and 429 above its rate', async () => {
    const call = { to, gas: '21000' }
    const other = `0x${'22'.repeat(20)}`
    const refused = [
      [{ ...call, to: other }, /may not call 0x2222/],
      [{ ...call, value: '1' }, /0 wei at most/],
      [{ to }, /"gas" is required/],
      [{ ...call, gas: '50001' }, /50000 at most/],
    ] as const
    // Her rate is one request a second, so each request waits for its turn.
    for (const [index, [body, reason]] of refused.entries()) {
      const answer = await untilAllowed(() => post(relayer, `no-${index}`, body, 'third'))
      expect([answer.status, String(answer.body.error)]).toEqual([403, expect.stringMatching(reason)])
    }
    const answers = await Promise.all([1, 2, 3].map((one) => post(relayer, `yes-${one}`, call, 'third')))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited.length).toBeGreaterThanOrEqual(2)
    expect(limited[0]?.headers.get('retry-after')).toBe('1')
    // The other callers have rates of their own.
    expect((await look(relayer, 'none')).status).toBe(404)
  })

  test('an invalid request is a 400, and a too large one a 413: neither is accepted', async () => {
    const past = new Date(Date.now() - 60_000).toISOString()
    const wrong: [object | string, number][] = [
      ['{"to":', 400],
      [{ to, gas: 21_000 }, 400],
      [{ to, gas: '20999' }, 400],
      [{ to, gas: '900000000000' }, 400],
      [{ to, deadline: 'tomorrow' }, 400],
      [{ to, deadline: past }, 400],
      [{ to, data: `0x${'00'.repeat(150_000)}` }, 413],
    ]
    for (const [index, [body, status]] of wrong.entries()) {
      const answer = await post(relayer, `wrong-${index}`, body)
      expect(answer.status, JSON.stringify(body).slice(0, 100)).toBe(status)
      expect((await look(relayer, `wrong-${index}`)).status).toBe(404)
    }
    expect((await post(relayer, 'a key', { to })).status).toBe(400)
    expect((await askRelayer(relayer.url, 'open-sesame', '/v1/transactions?stage=nowhere')).status).toBe(400)
  })

  test('each end is posted to the webhook of its caller, signed, with the status of the receipt', async () => {
    expect((await post(relayer, 'hooked', { to, gas: '21000' })).status).toBe(202)
    expect((await post(relayer, 'unhooked', { to, gas: '21000' }, 'other-word')).status).toBe(202)
    const { hash } = await sealed(relayer, 'hooked')
    const find = () => receiver.accepted.find(({ tx }) => tx.id === 'alice/hooked')
    while (find() === undefined) await pause(50)
    expect(find()).toMatchObject({ stage: 'settled', tx: { hash, status: 'success', group: 'alice' } })
    expect(receiver.accepted.filter(({ tx }) => tx.group !== 'alice')).toEqual([])
    expect(receiver.unsigned).toBe(0)
  })

  test('a transaction that ended without execution is a 409 with its end, and is sent again with ?again=true', async () => {
    // The precompile of BLAKE2 reverts unless its input has 213 bytes.
    const call = { to: `0x${'00'.repeat(19)}09`, data: '0x01' }
    expect((await post(relayer, 'reverts', call)).status).toBe(202)
    expect(await ended(relayer, 'reverts')).toMatchObject({
      stage: 'failed',
      error: { code: 'PREPARE_REVERTED' },
    })
    const refused = await post(relayer, 'reverts', call)
    expect(refused).toMatchObject({ status: 409, body: { code: 'ENDED', fate: 'notExecuted' } })
    expect((await post(relayer, 'reverts', call, undefined, '?again=true')).status).toBe(202)
    expect(await ended(relayer, 'reverts')).toMatchObject({ stage: 'failed' })
  })

  test('a cancel withdraws a transaction that has not run, and is a 409 for one that has', async () => {
    const cancel = (key: string) =>
      askRelayer(relayer.url, 'open-sesame', `/v1/transactions/${key}/cancel`, {})
    expect((await cancel('none')).status).toBe(404)
    expect((await post(relayer, 'ran', { to, gas: '21000' })).status).toBe(202)
    const { hash } = await sealed(relayer, 'ran')
    expect(await cancel('ran')).toMatchObject({ status: 409, body: { id: 'alice/ran', hash } })
  })

  test('SIGHUP reads keys and callers again: one key is added, another removed, and both transactions remain', async () => {
    expect((await post(relayer, 'before', { to, gas: '21000' })).status).toBe(202)
    expect((await sealed(relayer, 'before')).from).toBe(devnet.accounts[0]!.address)
    await files.writeKeys([`retired ${accountKey(0)}`, accountKey(1)])
    await files.writeCallers([...callers(), { name: 'dave', keys: [digestOf('new')] }])
    relayer.process.kill('SIGHUP')
    await relayer.process.line(/account retired/)
    expect((await post(relayer, 'after', { to, gas: '21000' })).status).toBe(202)
    expect((await sealed(relayer, 'after')).from).toBe(devnet.accounts[1]!.address)
    expect((await look(relayer, 'before')).status).toBe(200)
    expect(await listed(relayer, 'open-sesame')).toEqual(
      expect.arrayContaining(['alice/before', 'alice/after']),
    )
    // A process that never had the former key lists that key's transactions.
    await files.writeKeys([accountKey(1)])
    const other = await start()
    await using _other = other.process
    expect(await listed(other, 'open-sesame')).toEqual(await listed(relayer, 'open-sesame'))
    expect((await look(other, 'before')).status).toBe(200)
    expect((await post(relayer, 'mine', { to, gas: '21000' }, 'new')).status).toBe(202)
    // An invalid file changes nothing.
    await files.writeKeys(['0x12'])
    relayer.process.kill('SIGHUP')
    await relayer.process.line(/KEYS_FILE, key 1 has to be 0x and 64/)
    expect((await look(relayer, 'after')).status).toBe(200)
    await files.writeKeys([accountKey(0)])
    await files.writeCallers(callers())
  })

  test('probes, metrics and the API description need no key; the description is the file in the folder', async () => {
    while ((await askRelayer(relayer.url, undefined, '/readyz')).status !== 200) await pause(50)
    expect(await askRelayer(relayer.url, undefined, '/healthz')).toMatchObject({
      status: 200,
      body: { live: true },
    })
    await look(relayer, 'none')
    const metrics = await (await fetch(relayer.metricsUrl)).text()
    expect(metrics).toMatch(
      /http_server_request_duration_count\{.*http_route="\/v1\/transactions\/:key".*\} [1-9]/,
    )
    expect(metrics).toMatch(/relayer_webhooks_waiting\S* \d+\n/)
    expect(metrics).toMatch(/txlane_/)
    const { body } = await askRelayer(relayer.url, undefined, '/openapi.json')
    const written = await readFile(new URL('../../examples/relayer/openapi.json', import.meta.url), 'utf8')
    expect(JSON.parse(written)).toEqual(body)
  })
})

test.each([
  [{ RPC_URL: '' }, 'RPC_URL has to be set.'],
  [{ CHAIN_ID: '123456789012' }, 'CHAIN_ID: viem has no chain with the id "123456789012".'],
  [{ PORT: '80a' }, 'PORT has to be a whole number, not "80a".'],
  [{ KEYS_FILE: '/none' }, "ENOENT: no such file or directory, open '/none'"],
  [{ TREASURY_KEY: `0x${'11'.repeat(32)}` }, 'TREASURY_BELOW has to be set.'],
  [{ TREASURY_KEY: 'secret' }, 'TREASURY_BELOW has to be set.'],
])('a start with %o ends with code 2 and one line', async (change, line) => {
  const { code, err } = await startExample('relayer/server.ts', {
    RPC_URL: devnet.url,
    CHAIN_ID: String(devnet.chain.id),
    DATABASE_URL: postgres.connectionString,
    ...files.environment,
    ...change,
  }).ended
  expect([code, err]).toEqual([2, `${line}\n`])
})

async function untilAllowed(ask: () => Promise<RelayerAnswer>): Promise<RelayerAnswer> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 429) return answer
    await pause(100)
  }
}
