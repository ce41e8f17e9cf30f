import { describe, expect, test } from 'vitest'
import { call } from '../../../src/rpc/port.js'
import { createChain } from '../chain/chain.js'
import type { ChainOptions } from '../chain/options.js'
import type { TagRule, Tags } from '../chain/tags.js'
import { programRequest } from '../program.js'
import { createRandom } from '../random.js'
import { createStubAccount } from '../stubAccount.js'
import { createVirtualClock } from '../virtualClock.js'
import { createSimPort } from './simPort.js'

const ADDRESS = '0x00000000000000000000000000000000000000aa'
const BLOCK_MS = 200

type Block = {
  readonly number: string
  readonly timestamp: string
  readonly timestampMs?: string
  readonly transactions: readonly { readonly type: string; readonly transactionIndex: string }[]
}

function setUp({ tags, ...options }: Partial<ChainOptions> & { tags?: Tags } = {}) {
  const clock = createVirtualClock()
  const random = createRandom(3)
  const accounts = [{ address: ADDRESS, balanceWei: 10n ** 18n }] as const
  const chain = createChain({
    clock,
    random,
    accounts,
    rules: 'reth',
    blockTimeMs: BLOCK_MS,
    deposits: 2,
    ...options,
  })
  const port = createSimPort(chain, { clock, random, latencyMs: { min: 0, max: 0 }, tags })
  async function read(method: string, ...params: unknown[]) {
    const asked = call(port, method, params)
    await clock.advance(1)
    return asked
  }
  async function block(selector: string) {
    const reply = await read('eth_getBlockByNumber', selector, true)
    return (reply.ok ? reply.result : undefined) as Block
  }
  return { clock, chain, read, block }
}

const seconds = ({ timestamp }: Block) => Number(timestamp)

async function send({ read }: ReturnType<typeof setUp>) {
  const raw = await createStubAccount(ADDRESS).signTransaction({
    chainId: 8453,
    type: 'eip1559',
    nonce: 0,
    gas: 100_000n,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
    ...programRequest({ kind: 'call', marker: 1 }),
  })
  return read('eth_sendRawTransaction', raw)
}

describe('a chain with a canonical block every 200 ms', () => {
  test('gives five blocks the same second, and shows milliseconds only where it has them', async () => {
    const plain = setUp()
    plain.chain.start()
    await plain.clock.advance(2_000)
    const blocks = await Promise.all([5, 6, 7, 8, 9, 10].map((n) => plain.block(`0x${n.toString(16)}`)))
    const [first, , , , fifth, next] = blocks as [Block, Block, Block, Block, Block, Block]
    expect(seconds(fifth)).toBe(seconds(first))
    expect(seconds(next)).toBe(seconds(first) + 1)
    expect(first).not.toHaveProperty('timestampMs')
    const stamped = setUp({ stampsMs: true })
    stamped.chain.start()
    await stamped.clock.advance(2_000)
    const sixth = await stamped.block('0x6')
    expect(Number(sixth.timestampMs) - 1_000 * seconds(sixth)).toBe(BLOCK_MS)
  })

  test('begins each block with two deposits, before the transactions of users', async () => {
    const lane = setUp()
    await send(lane)
    lane.chain.start()
    await lane.clock.advance(BLOCK_MS)
    const { transactions } = await lane.block('latest')
    expect(transactions.map(({ type }) => type)).toEqual(['0x7e', '0x7e', '0x2'])
    expect(transactions.map(({ transactionIndex }) => transactionIndex)).toEqual(['0x0', '0x1', '0x2'])
    const receipts = await lane.read('eth_getBlockReceipts', 'latest')
    expect(receipts).toMatchObject({ result: [{ type: '0x7e' }, { type: '0x7e' }, { type: '0x2' }] })
  })

  test('counts the pool at pending, as reth does, and gives no receipt before the block', async () => {
    const lane = setUp()
    const sent = await send(lane)
    const hash = sent.ok ? sent.result : undefined
    expect(await lane.read('eth_getTransactionCount', ADDRESS, 'pending')).toMatchObject({ result: '0x1' })
    expect(await lane.read('eth_getTransactionCount', ADDRESS, 'latest')).toMatchObject({ result: '0x0' })
    expect(await lane.read('eth_getTransactionReceipt', hash)).toMatchObject({ result: null })
  })
})

describe('the tags of an endpoint', () => {
  const tagsOf = (finalized: TagRule): Tags => ({
    safe: { kind: 'moving', lagMs: 1_000, stepMs: 200 },
    finalized,
  })
  async function finalizedAfter(ms: number, rule: TagRule) {
    const { clock, chain, block } = setUp({ tags: tagsOf(rule) })
    chain.start()
    await clock.advance(ms)
    return Number((await block('finalized')).number)
  }

  test('lag in time and move in steps', async () => {
    const rule: TagRule = { kind: 'moving', lagMs: 3_000, stepMs: 2_000 }
    expect(await finalizedAfter(2_900, rule)).toBe(0)
    expect(await finalizedAfter(6_100, rule)).toBe(15)
    expect(await finalizedAfter(7_900, rule)).toBe(15)
    expect(await finalizedAfter(8_100, rule)).toBe(25)
  })

  test('may stand still', async () => {
    expect(await finalizedAfter(60_000, { kind: 'moving', lagMs: 1_000, stepMs: 200, stuckMs: 5_000 })).toBe(
      20,
    )
  })

  test.each(['null', 'error'] as const)('may be missing, with the answer %s', async (kind) => {
    const { read } = setUp({ tags: tagsOf({ kind }) })
    const reply = await read('eth_getBlockByNumber', 'finalized', false)
    expect(reply).toMatchObject(
      kind === 'null' ? { ok: true, result: null } : { failure: { message: 'finalized block not found' } },
    )
    expect(await read('eth_getBlockByNumber', 'safe', false)).toMatchObject({ result: { number: '0x0' } })
  })
})
