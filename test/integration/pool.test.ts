import { createPublicClient, http } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createLanes, createSenderPool, memoryStore, type SenderPool, type Store } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { rpc } from './devnetSupport.js'

let devnet: Devnet
const opened: { close(): Promise<void> }[] = []
let nextAccount = 0

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 40 })
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
})
afterAll(() => devnet.stop())

const to = '0x1111111111111111111111111111111111111111'
const gas = 21_000n

/** Accounts that no other test has used. */
function fresh(amount: number) {
  nextAccount += amount
  return devnet.accounts.slice(nextAccount - amount, nextAccount)
}

function clientOf() {
  return createPublicClient({ chain: devnet.chain, transport: http(undefined, { retryCount: 0 }) })
}

function poolOf(amount: number, options: { store?: Store } = {}): SenderPool {
  const pool = createSenderPool({
    client: clientOf(),
    accounts: fresh(amount),
    lossDepth: 'child',
    ...options,
  })
  opened.push(pool)
  return pool
}

async function counts(pool: SenderPool): Promise<number[]> {
  const hex = await Promise.all(
    pool.senders.map(({ address }) => rpc<string>(devnet.url, 'eth_getTransactionCount', address, 'latest')),
  )
  return hex.map(Number)
}

test('a pool distributes its transactions over its accounts, and each lands once', async () => {
  const pool = poolOf(3)
  const txs = await Promise.all(Array.from({ length: 30 }, () => pool.send({ to, gas })))
  await pool.drain()
  expect(await counts(pool)).toEqual([10, 10, 10])
  const landed = await Promise.all(txs.map((tx) => tx.wait('sealed')))
  expect(new Set(landed.map(({ hash }) => hash)).size).toBe(30)
  for (const tx of txs) expect(await pool.get({ hash: tx.hash! })).toBe(tx)
})

test('held lanes are skipped, and a transaction waits in a held lane if there is no other', async () => {
  const pool = poolOf(2)
  await pool.ready()
  pool.senders[0]?.pause()
  await Promise.all(Array.from({ length: 6 }, () => pool.send({ to, gas })))
  await pool.senders[1]?.drain()
  expect(await counts(pool)).toEqual([0, 6])
  pool.pause()
  const waiting = await pool.send({ to, gas }, { until: 'queued' })
  pool.resume()
  await waiting.wait('sealed')
})

test('a repeated id goes to its former lane, and a concurrent one to one lane only', async () => {
  const pool = poolOf(4)
  const twice = await Promise.all([1, 2].map(() => pool.send({ to, gas }, { id: 'invoice-1' })))
  expect(twice[0]).toBe(twice[1])
  await pool.drain()
  await pool.send({ to, gas }, { id: 'invoice-1' })
  await expect(pool.send({ to, gas, value: 1n }, { id: 'invoice-1' })).rejects.toMatchObject({
    code: 'ID_CONFLICT',
  })
  await pool.drain()
  expect((await counts(pool)).reduce((sum, count) => sum + count)).toBe(1)
  // Every sender finds the id, because ids are shared by all of them.
  for (const sender of pool.senders) expect(await sender.get('invoice-1')).toBe(twice[0])
})

test('a request that names an account goes to it, and one for an unknown account is refused', async () => {
  const pool = poolOf(3)
  const account = pool.senders[2]!.address
  await pool.send({ to, gas, account } as never)
  await pool.writeContract({
    address: to,
    abi: [{ type: 'function', name: 'f', inputs: [], outputs: [], stateMutability: 'nonpayable' }],
    functionName: 'f',
    gas: 30_000n,
    account,
  } as never)
  await pool.drain()
  expect(await counts(pool)).toEqual([0, 0, 2])
  await expect(pool.send({ to, gas, account: to } as never)).rejects.toMatchObject({ code: 'INVALID' })
})

test('a transaction may depend on one of another lane', async () => {
  const pool = poolOf(2)
  const [first, second] = pool.senders
  const before = await pool.send({ to, gas, account: first?.address } as never, {
    id: 'before',
    until: 'queued',
  })
  const after = await pool.send({ to, gas, account: second?.address } as never, {
    after: ['before'],
    afterStage: 'sealed',
  })
  expect(before.stage === 'sealed' || before.stage === 'safe' || before.stage === 'finalized').toBe(true)
  await after.wait('sealed')
})

test('many items go through a pool, and each result names its item', async () => {
  const pool = poolOf(3)
  const items = Array.from({ length: 24 }, (_, n) => ({
    id: `item-${n}`,
    request: { to, gas, value: BigInt(n) } as const,
  }))
  const seen = new Set<number>()
  for await (const result of pool.sendMany(items, { until: 'sealed' })) {
    expect(result).toMatchObject({ ok: true, id: `item-${result.index}` })
    seen.add(result.index)
  }
  expect(seen.size).toBe(24)
  const listed: string[] = []
  for (let cursor: string | undefined, pages = 0; pages === 0 || cursor; pages++) {
    const page = await pool.list({ limit: 5, ...(cursor ? { cursor } : {}) })
    listed.push(...page.items.map(({ id }) => id))
    cursor = page.cursor
  }
  expect(listed.sort()).toEqual(items.map(({ id }) => id).sort())
})

test('invalid options of a pool are refused at once', async () => {
  const [account] = fresh(1)
  const client = clientOf()
  expect(() => createSenderPool({ client, accounts: [] })).toThrow('accounts')
  expect(() => createSenderPool({ client, accounts: [account!, account!] })).toThrow('accounts[1]')
  expect(() => createSenderPool({ client, accounts: [{} as never] })).toThrow('account')
  const pool = poolOf(1)
  await expect(pool.list({ cursor: '7/' })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(pool.snapshot()).rejects.toMatchObject({ code: 'UNSUPPORTED' })
})

test('lanes give the same sender for the same account, and share one lane with its pool', async () => {
  const accounts = fresh(2)
  const store = memoryStore()
  const lanes = createLanes({ chains: [{ client: clientOf(), lossDepth: 'child' }], store })
  opened.push(lanes)
  const chainId = devnet.chain.id
  const sender = lanes.sender({ chainId, account: accounts[0]! })
  expect(lanes.sender({ chainId, account: { ...accounts[0]! } })).toBe(sender)
  const pool = lanes.pool({ chainId, accounts })
  expect(pool.senders[0]).toBe(sender)
  await Promise.all([sender.send({ to, gas }), pool.send({ to, gas }), pool.send({ to, gas })])
  await pool.drain()
  expect((await counts(pool)).reduce((sum, count) => sum + count)).toBe(3)
  await sender.close()
  expect(lanes.sender({ chainId, account: accounts[0]! })).not.toBe(sender)
  await lanes.close()
  expect(() => lanes.sender({ chainId, account: accounts[0]! })).toThrow('closed')
})

test('lanes list their chains, each once', () => {
  const [account] = fresh(1)
  const chain = { client: clientOf() }
  const lanes = createLanes({ chains: [chain] })
  expect(() => lanes.sender({ chainId: 5, account: account! })).toThrow('chainId')
  expect(() => createLanes({ chains: [] })).toThrow('chains')
  expect(() => createLanes({ chains: [chain, chain] })).toThrow('chains')
  expect(() => createLanes(undefined as never)).toThrow('options')
})

test('a transaction that waits at a key without funds is sent by a key that can pay', async () => {
  const poor = privateKeyToAccount(generatePrivateKey())
  const pool = createSenderPool({ client: clientOf(), accounts: [poor, ...fresh(2)], lossDepth: 'child' })
  opened.push(pool)
  const txs = await Promise.all(Array.from({ length: 30 }, () => pool.send({ to, gas }, { until: 'queued' })))
  const landed = await Promise.all(txs.map((tx) => tx.wait('sealed')))
  expect(new Set(landed.map(({ receipt }) => receipt?.from))).toEqual(
    new Set(pool.senders.slice(1).map(({ address }) => address.toLowerCase())),
  )
  await pool.drain()
  const used = await counts(pool)
  expect([used[0], used.reduce((sum, count) => sum + count)]).toEqual([0, 30])
})
