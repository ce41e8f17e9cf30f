import { type Hex, keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { decodeHeader } from '../../../src/rpc/codec.js'
import { call, type RpcCall } from '../../../src/rpc/port.js'
import { createChain } from '../chain/chain.js'
import type { ChainRules } from '../chain/options.js'
import { programRequest } from '../program.js'
import { createRandom } from '../random.js'
import { createStubAccount } from '../stubAccount.js'
import { createVirtualClock } from '../virtualClock.js'
import { type Faults, NO_FAULTS } from './faults.js'
import { createSimPort, type SimPortOptions } from './simPort.js'

const ADDRESS = '0x00000000000000000000000000000000000000aa'

function setUp(faults: Partial<Faults> = {}, options: Partial<SimPortOptions> & { rules?: ChainRules } = {}) {
  const clock = createVirtualClock()
  const random = createRandom(3)
  const { rules = 'base', ...portOptions } = options
  const accounts = [{ address: ADDRESS, balanceWei: 10n ** 18n }] as const
  const chain = createChain({ clock, random, rules, accounts })
  const port = createSimPort(chain, { clock, random, faults: { ...NO_FAULTS, ...faults }, ...portOptions })
  const sign = (nonce: number): Promise<Hex> =>
    createStubAccount(ADDRESS).signTransaction({
      chainId: 8453,
      type: 'eip1559',
      nonce,
      gas: 100_000n,
      maxFeePerGas: 10n ** 9n,
      maxPriorityFeePerGas: 10n ** 9n,
      ...programRequest({ kind: 'call', marker: 1 }),
    })
  async function batch(calls: readonly RpcCall[], timeoutMs = 5_000) {
    const asked = port.batch(calls, { timeoutMs })
    await clock.advance(timeoutMs)
    return asked
  }
  const send = async (raw: Hex) => (await batch([{ method: 'eth_sendRawTransaction', params: [raw] }]))[0]
  const read = async (method: string, ...params: unknown[]) => (await batch([{ method, params }]))[0]
  return { clock, chain, port, sign, batch, send, read }
}

describe('without faults', () => {
  test.each(['latest', 'pending', 'safe', 'finalized', 'earliest', '0x1'])(
    'the block %s has a form that the decoder accepts',
    async (selector) => {
      const { chain, clock, sign, send, read } = setUp()
      const raw = await sign(0)
      await send(raw)
      chain.start()
      await clock.advance(4_300)
      const reply = await read('eth_getBlockByNumber', selector, false)
      const header = reply?.ok ? decodeHeader(reply.result) : undefined
      expect(header?.gasLimit).toBe(30_000_000n)
      if (selector === '0x1') expect(header?.hashes).toEqual([keccak256(raw)])
    },
  )

  test('an unknown block is null, and its state is an error', async () => {
    const { read } = setUp()
    expect(await read('eth_getBlockByNumber', '0x99', false)).toEqual({ ok: true, result: null })
    expect(await read('eth_getTransactionCount', ADDRESS, '0x99')).toMatchObject({ ok: false })
  })

  test('receipts, bodies and storage agree about a transaction', async () => {
    const { chain, sign, send, read } = setUp()
    const raw = await sign(0)
    expect(await send(raw)).toEqual({ ok: true, result: keccak256(raw) })
    chain.stepFlashblock()
    chain.seal()
    const hash = keccak256(raw)
    const receipt = { transactionHash: hash, blockNumber: '0x1', status: '0x1', from: ADDRESS }
    expect(await read('eth_getTransactionReceipt', hash)).toMatchObject({ result: receipt })
    expect(await read('eth_getBlockReceipts', '0x1')).toMatchObject({ result: [receipt] })
    expect(await read('eth_getBlockByNumber', '0x1', true)).toMatchObject({
      result: { transactions: [{ hash, nonce: '0x0', from: ADDRESS }] },
    })
    const { to } = programRequest({ kind: 'call', marker: 1 })
    expect(await read('eth_getStorageAt', to, '0x1', 'latest')).toMatchObject({
      result: expect.stringMatching(/^0x0+1$/),
    })
  })

  test('an unknown method is answered with -32601, a forbidden one with HTTP 403', async () => {
    const { read } = setUp({}, { forbidden: new Set(['eth_getBlockReceipts']) })
    expect(await read('eth_sendRawTransactionSync')).toMatchObject({ failure: { kind: 'rpc', code: -32601 } })
    expect(await read('eth_getBlockReceipts', '0x0')).toMatchObject({
      failure: { kind: 'http', status: 403 },
    })
  })
})

describe('faults', () => {
  test('a lost request never arrives, a lost response leaves its transaction in the pool', async () => {
    const request = setUp({ lostRequest: 1 })
    expect(await request.send(await request.sign(0))).toMatchObject({ failure: { kind: 'network' } })
    expect(request.chain.pool.size).toBe(0)
    const response = setUp({ lostResponse: 1 })
    expect(await response.send(await response.sign(0))).toMatchObject({ failure: { kind: 'network' } })
    expect(response.chain.pool.size).toBe(1)
  })

  test('a late request arrives after its sender got a timeout', async () => {
    const { chain, clock, send, sign } = setUp({ late: 1 })
    expect(await send(await sign(0))).toMatchObject({ failure: { kind: 'timeout' } })
    expect(chain.pool.size).toBe(0)
    await clock.run()
    expect(chain.pool.size).toBe(1)
  })

  test('a hash is no proof: never pooled, and swallowed bytes', async () => {
    const never = setUp({ neverPooled: 1 })
    expect(await never.send(await never.sign(0))).toMatchObject({ ok: true })
    expect(never.chain.pool.size).toBe(0)
    const { chain, send, sign } = setUp({ swallowed: 1 })
    const raw = await sign(0)
    await send(raw)
    chain.pool.evict(() => true)
    expect(await send(raw)).toEqual({ ok: true, result: keccak256(raw) })
    expect(chain.pool.size).toBe(0)
  })

  test('only counts at a tag are poisoned', async () => {
    const { read } = setUp({ poisonedCount: 1 })
    expect(await read('eth_getTransactionCount', ADDRESS, 'latest')).not.toMatchObject({ result: '0x0' })
    expect(await read('eth_getTransactionCount', ADDRESS, '0x0')).toMatchObject({ result: '0x0' })
  })

  test('the world changes between the halves of a torn batch', async () => {
    const { chain, clock, batch } = setUp({ torn: 1 })
    const head: RpcCall = { method: 'eth_blockNumber', params: [] }
    chain.start()
    await clock.advance(1_975)
    const replies = await batch([head, head])
    expect(replies.map((reply) => reply.ok && reply.result)).toEqual(['0x0', '0x1'])
  })

  test('two ports on one chain disagree when one lags', async () => {
    const { chain, clock, port } = setUp()
    const lagging = createSimPort(chain, { clock, random: createRandom(1), lagMs: () => 3_000 })
    chain.start()
    await clock.advance(6_100)
    const asked = Promise.all([port, lagging].map((each) => call(each, 'eth_blockNumber', [])))
    await clock.advance(100)
    expect((await asked).map((reply) => reply.ok && reply.result)).toEqual(['0x3', '0x1'])
  })

  test('a request given up before it was written is aborted, and given up later it is a broken connection', async () => {
    const { chain, clock, port, sign } = setUp()
    const calls = [{ method: 'eth_sendRawTransaction', params: [await sign(0)] }]
    const controller = new AbortController()
    const asked = port.batch(calls, { signal: controller.signal })
    controller.abort()
    expect((await asked)[0]).toMatchObject({ failure: { kind: 'network' } })
    await clock.run()
    expect(chain.pool.size).toBe(1)
    const again = await port.batch(calls, { signal: controller.signal })
    expect(again[0]).toMatchObject({ failure: { kind: 'aborted' } })
  })
})
