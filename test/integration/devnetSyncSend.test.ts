import { type Hex, keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { type Devnet, type DevnetOptions, startDevnet } from '../../tools/devnet/index.js'
import { ask, rpc, sign } from './devnetSupport.js'

const MODES = ['preconfirmed', 'fastBlocks', 'plain'] as const
const SYNC = 'eth_sendRawTransactionSync'

/** Resolves once the pool holds a transaction. */
async function pooled(devnet: Devnet): Promise<void> {
  while ((await devnet.pool()).length === 0) await rpc(devnet.url, 'eth_blockNumber')
}

describe.each(MODES)('eth_sendRawTransactionSync in mode %s', (mode) => {
  test('answers with the receipt that reads show, after the first step that holds the transaction', async () => {
    await using devnet = await startDevnet({ mode, mining: 'manual' })
    const raw = await sign(devnet, devnet.accounts[0]!, 0)
    const answer = ask(devnet.url, SYNC, raw, 5_000)
    await pooled(devnet)
    await devnet.stepFlashblock()
    const { result } = await answer
    expect(result).toMatchObject({ status: '0x1', blockNumber: '0x1', transactionHash: keccak256(raw) })
    expect(await rpc(devnet.url, 'eth_getTransactionReceipt', keccak256(raw))).toEqual(result)
  })

  test("viem's sendRawTransactionSync lands a transaction in one request", async () => {
    await using devnet = await startDevnet({ mode, blockTimeMs: 200 })
    const client = devnet.client()
    const serializedTransaction = await sign(devnet, devnet.accounts[0]!, 0)
    const before = devnet.stats.rpcCalls
    const receipt = await client.sendRawTransactionSync({ serializedTransaction, timeout: 5_000 })
    expect(receipt).toMatchObject({ status: 'success', transactionHash: keccak256(serializedTransaction) })
    expect(devnet.stats.rpcCalls - before).toBe(1)
  })
})

type Kind = { readonly name: string; readonly options: DevnetOptions; readonly hashIn: 'data' | 'message' }

const KINDS: readonly Kind[] = [
  { name: 'Base with Flashblocks', options: { mode: 'preconfirmed' }, hashIn: 'message' },
  { name: 'Base with fast blocks', options: { mode: 'fastBlocks' }, hashIn: 'message' },
  { name: 'geth', options: { mode: 'plain' }, hashIn: 'data' },
  { name: 'a node that follows EIP-7966', options: { mode: 'plain', syncSend: 'eip7966' }, hashIn: 'data' },
]

describe.each(KINDS)('eth_sendRawTransactionSync of $name', ({ options, hashIn }) => {
  test('answers code 4 with the hash after its timeout, and the transaction stays in the pool', async () => {
    await using devnet = await startDevnet({ ...options, mining: 'manual' })
    const raw = await sign(devnet, devnet.accounts[0]!, 0)
    const { error } = await ask(devnet.url, SYNC, raw, 20)
    const hash = keccak256(raw)
    expect(error?.code).toBe(4)
    expect(error?.message).toContain('20ms')
    expect(error?.data).toBe(hashIn === 'data' ? hash : undefined)
    expect(error?.message.includes(hash)).toBe(hashIn === 'message')
    expect((await devnet.pool()).map((one) => one.hash)).toEqual([hash])
  })

  test('refuses a bad transaction with the error of eth_sendRawTransaction, and pools nothing', async () => {
    await using devnet = await startDevnet({ ...options, mining: 'manual' })
    const raw = await sign(devnet, devnet.accounts[0]!, 0, { gas: 20_000n })
    const { error } = await ask(devnet.url, SYNC, raw, 5_000)
    expect(error).toEqual((await ask(devnet.url, 'eth_sendRawTransaction', raw)).error)
    expect(error?.code).toBe(-32000)
    for (const timeout of ['0x14', -1, 1.5]) {
      expect((await ask(devnet.url, SYNC, raw, timeout)).error?.code).toBe(-32602)
    }
    expect(await devnet.pool()).toEqual([])
  })
})

describe('a transaction above a gap', () => {
  test.each(KINDS.slice(0, 3))('is pooled by $name and ends in code 4', async ({ options }) => {
    await using devnet = await startDevnet({ ...options, mining: 'manual' })
    const { error } = await ask(devnet.url, SYNC, await sign(devnet, devnet.accounts[0]!, 3), 20)
    expect(error?.code).toBe(4)
    expect((await devnet.pool()).map(({ nonce }) => nonce)).toEqual([3])
  })

  test.each(MODES)(
    'gets code 6 with the expected nonce under EIP-7966 in mode %s, and is not pooled',
    async (mode) => {
      await using devnet = await startDevnet({ mode, mining: 'manual', syncSend: 'eip7966' })
      const account = devnet.accounts[0]!
      await rpc(devnet.url, 'eth_sendRawTransaction', await sign(devnet, account, 0))
      const { error } = await ask(devnet.url, SYNC, await sign(devnet, account, 3), 5_000)
      expect(error).toMatchObject({ code: 6, data: '0x1' })
      expect((await devnet.pool()).map(({ nonce }) => nonce)).toEqual([0])
      const raw = await sign(devnet, account, 3)
      expect(await rpc(devnet.url, 'eth_sendRawTransaction', raw)).toBe(keccak256(raw))
    },
  )
})

describe('a transaction that is not ready under EIP-7966', () => {
  test('gets code 5 for missing funds and for a full pool, and is not pooled', async () => {
    await using devnet = await startDevnet({
      mode: 'fastBlocks',
      mining: 'manual',
      syncSend: 'eip7966',
      poolMax: 1,
    })
    const [account, other] = [devnet.accounts[0]!, devnet.accounts[1]!]
    const code = async (raw: Hex) => (await ask(devnet.url, SYNC, raw, 5_000)).error?.code
    expect(await code(await sign(devnet, account, 0, { value: 10n ** 24n }))).toBe(5)
    await rpc(devnet.url, 'eth_sendRawTransaction', await sign(devnet, account, 0))
    expect(await code(await sign(devnet, other, 0))).toBe(5)
    expect(await devnet.pool()).toHaveLength(1)
  })
})

describe('the limits of the timeout', () => {
  test('Base with Flashblocks refuses more than six seconds', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const raw = await sign(devnet, devnet.accounts[0]!, 0)
    const { error } = await ask(devnet.url, SYNC, raw, 6_001)
    expect(error?.code).toBe(-32602)
    expect(await devnet.pool()).toEqual([])
  })

  test('geth and Base with fast blocks shorten a longer timeout, and take zero as their default', async () => {
    for (const mode of ['fastBlocks', 'plain'] as const) {
      await using devnet = await startDevnet({ mode, mining: 'manual' })
      for (const [nonce, timeout] of [86_400_000, 0].entries()) {
        const answer = ask(devnet.url, SYNC, await sign(devnet, devnet.accounts[0]!, nonce), timeout)
        await pooled(devnet)
        await devnet.seal()
        expect((await answer).result).toMatchObject({ status: '0x1' })
      }
    }
  })

  test('anvil takes no timeout', async () => {
    await using devnet = await startDevnet({ rules: 'anvil', mining: 'manual' })
    const raw = await sign(devnet, devnet.accounts[0]!, 0)
    expect((await ask(devnet.url, SYNC, raw, 5_000)).error?.code).toBe(-32602)
    const answer = ask(devnet.url, SYNC, raw)
    await pooled(devnet)
    await devnet.seal()
    expect((await answer).result).toMatchObject({ status: '0x1' })
  })
})

test('a node without the method says so, and eth_sendRawTransaction works there', async () => {
  await using devnet = await startDevnet({ mining: 'manual', syncSend: 'missing' })
  const raw = await sign(devnet, devnet.accounts[0]!, 0)
  expect((await ask(devnet.url, SYNC, raw)).error?.code).toBe(-32601)
  expect(await devnet.pool()).toEqual([])
  expect(await rpc(devnet.url, 'eth_sendRawTransaction', raw)).toBe(keccak256(raw))
})
