import { createWalletClient, type Hex, http, type LocalAccount, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createSender, createViemNonceManager, type ViemNonceManager } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { rpc } from './devnetSupport.js'

let devnet: Devnet
let nonceManager: ViemNonceManager
const opened: { close(): Promise<void> }[] = []
let nextKey = 1

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
  devnet.faults.clear()
})
afterAll(() => devnet.stop())

/** A funded account for each test, with the plug-in, and viem's client for it. */
async function setUp(options: Parameters<typeof createViemNonceManager>[0] = {}) {
  nonceManager = createViemNonceManager(options)
  opened.push(nonceManager)
  const key = `0x${(nextKey++).toString(16).padStart(64, '0')}` as Hex
  const account = privateKeyToAccount(key, { nonceManager })
  const funding = devnet.client()
  const hash = await funding.sendTransaction({ to: account.address, value: 10n ** 18n })
  await funding.waitForTransactionReceipt({ hash })
  return { account, client: clientOf(account) }
}

function clientOf(account: LocalAccount) {
  return createWalletClient({
    account,
    chain: devnet.chain,
    transport: http(undefined, { retryCount: 0 }),
    pollingInterval: 50,
  }).extend(publicActions)
}

async function count(account: LocalAccount): Promise<number> {
  return Number(await rpc<Hex>(devnet.url, 'eth_getTransactionCount', account.address, 'latest'))
}

/** Waits for the seal, because viem's receipt may be from the pending block. */
async function sealed(account: LocalAccount, nonces: number): Promise<void> {
  await vi.waitFor(async () => expect(await count(account)).toBe(nonces), 10_000)
}

test('concurrent sends by viem get consecutive nonces and all land', async () => {
  const { account, client } = await setUp()
  const hashes = await Promise.all(
    Array.from({ length: 20 }, () => client.sendTransaction({ to: account.address, value: 1n })),
  )
  expect(new Set(hashes).size).toBe(20)
  const receipts = await Promise.all(hashes.map((hash) => client.waitForTransactionReceipt({ hash })))
  expect(receipts.every(({ status }) => status === 'success')).toBe(true)
  await sealed(account, 20)
})

test('a nonce whose answer was lost is not used for another transaction', async () => {
  const { account, client } = await setUp()
  await client.sendTransaction({ to: account.address, gas: 21_000n })
  devnet.faults.inject({ fault: 'lostResponse', method: 'eth_sendRawTransaction', count: 1 })
  await expect(client.sendTransaction({ to: account.address, gas: 21_000n })).rejects.toThrow()
  // The node accepted it. viem's own manager would return the same nonce again here.
  const hash = await client.sendTransaction({ to: account.address, gas: 21_000n })
  const { nonce } = await client.getTransaction({ hash })
  expect(nonce).toBe(2)
  await client.waitForTransactionReceipt({ hash })
  await sealed(account, 3)
})

test('get returns the next nonce and does not take it', async () => {
  const { account, client } = await setUp()
  const key = { address: account.address, chainId: devnet.chain.id, client }
  expect(await nonceManager.get(key)).toBe(0)
  expect(await nonceManager.get(key)).toBe(0)
  expect(await nonceManager.consume(key)).toBe(0)
  nonceManager.increment(key)
  expect(await nonceManager.consume(key)).toBe(2)
  nonceManager.reset(key)
  expect(await nonceManager.get(key)).toBe(3)
})

test('sends by a sender of the same account are counted', async () => {
  const { account, client } = await setUp()
  const sender = createSender({ client, account, lossDepth: 'child' })
  opened.push(sender)
  const all = await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      if (n % 2 === 0) return (await sender.send({ to: account.address, gas: 21_000n })).hash
      return client.sendTransaction({ to: account.address, gas: 21_000n })
    }),
  )
  expect(new Set(all).size).toBe(10)
  await sealed(account, 10)
})

test('a nonce that viem left unused is filled by a sender of the account', async () => {
  const { account, client } = await setUp({ limits: { reservationTtlMs: 200 } })
  devnet.faults.inject({ fault: 'rpcError', method: 'eth_estimateGas', count: 1 })
  await expect(client.sendTransaction({ to: account.address, value: 1n })).rejects.toThrow()
  const stuck = await client.sendTransaction({ to: account.address, gas: 21_000n })
  const sender = createSender({ client, account, lossDepth: 'child' })
  opened.push(sender)
  await sender.ready()
  await client.waitForTransactionReceipt({ hash: stuck })
  await sealed(account, 2)
})

test('it releases a lane that is not in use, and continues from there', async () => {
  const { account, client } = await setUp()
  await client.sendTransaction({ to: account.address, gas: 21_000n })
  await nonceManager.close()
  await sealed(account, 1)
  const hash = await client.sendTransaction({ to: account.address, gas: 21_000n })
  await client.waitForTransactionReceipt({ hash })
  await sealed(account, 2)
})
