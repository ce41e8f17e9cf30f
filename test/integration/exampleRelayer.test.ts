import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Devnet, startDevnet } from '../../src/devnet/index.js'
import {
  DEVNET_KEY,
  EXAMPLE_TIMEOUT_MS,
  type ExampleProcess,
  startExample,
} from '../support/exampleProcess.js'
import { pause } from '../support/pause.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { rpc } from './devnetSupport.js'

vi.setConfig({ testTimeout: EXAMPLE_TIMEOUT_MS })

let devnet: Devnet
let postgres: TestPostgres

beforeAll(async () => {
  ;[devnet, postgres] = await Promise.all([
    startDevnet({ blockTimeMs: 400, flashblockMs: 200 }),
    startPostgres(),
  ])
})
afterAll(async () => {
  await Promise.all([devnet?.stop(), postgres?.stop()])
})

type Relayer = { readonly process: ExampleProcess; readonly url: string }

async function start(): Promise<Relayer> {
  const process = startExample('relayer/server.ts', {
    RPC_URL: devnet.url,
    CHAIN_ID: String(devnet.chain.id),
    PRIVATE_KEYS: DEVNET_KEY,
    DATABASE_URL: postgres.connectionString,
    API_KEYS: 'alice:open-sesame,bob:other-word',
    PORT: '0',
  })
  const [, url = ''] = await process.line(/Server listening at (http:\/\/127\.0\.0\.1:\d+)/)
  return { process, url }
}

const to = '0x1111111111111111111111111111111111111111'
const nonces = async () =>
  Number(await rpc<string>(devnet.url, 'eth_getTransactionCount', devnet.accounts[0]!.address, 'latest'))

async function post(
  { url }: Relayer,
  key: string | undefined,
  body: object,
  token = 'open-sesame',
): Promise<{ status: number; body: { id?: string; code?: string; fate?: string }; headers: Headers }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/transactions`, {
    method: 'POST',
    headers: { ...headers, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as object, headers: response.headers }
}

/** The ids of a caller's own. */
async function listed({ url }: Relayer, token: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/transactions`, { headers: { authorization: `Bearer ${token}` } })
  return ((await response.json()) as { items: { id: string }[] }).items.map(({ id }) => id)
}

/** Asks until the transaction is in a sealed block. */
async function sealed({ url }: Relayer, key: string): Promise<{ hash: string; nonce: number }> {
  for (;;) {
    const headers = { authorization: 'Bearer open-sesame' }
    const response = await fetch(`${url}/v1/transactions/${key}`, { headers })
    const tx = (await response.json()) as { stage: string; hash: string; nonce: number }
    if (['failed', 'cancelled'].includes(tx.stage)) throw new Error(`${key} is ${tx.stage}`)
    if (['sealed', 'safe', 'finalized'].includes(tx.stage)) return tx
    await pause(50)
  }
}

test('two processes: one key is one transaction, another body a conflict, and a stranger nobody', async () => {
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
  // Another caller's key of the same name is another one.
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

test('a process is killed: what it had taken on is finished by the other, each once', async () => {
  const victim = await start()
  await using _victim = victim.process
  const call = (index: number) => ({ to, value: String(index), gas: '21000' })
  // The victim holds the lane before the other process is there.
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

test('the database is down: 503, and the same key again once it is back is taken on once', async () => {
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
