import { describe, expect, test } from 'vitest'
import type { RpcCall } from '../../../src/rpc/port.js'
import { createChain } from '../chain/chain.js'
import { programRequest } from '../program.js'
import { createRandom } from '../random.js'
import { createStubAccount } from '../stubAccount.js'
import { createVirtualClock } from '../virtualClock.js'
import { createSimPort } from './simPort.js'
import { drawTimedFaults, type How, strikeOf, type Target, TIMED_STRIKES } from './timedFault.js'
import { createUntruth } from './untrue.js'

const ADDRESS = '0x00000000000000000000000000000000000000aa'

/** Blocks 1 and 2 hold two transactions each; the fault is active for the first second. */
async function setUp(target: Target, how: How) {
  const clock = createVirtualClock()
  const random = createRandom(3)
  const accounts = [{ address: ADDRESS, balanceWei: 10n ** 18n }] as const
  const chain = createChain({ clock, random, rules: 'geth', accounts })
  const hashes: unknown[] = []
  for (let nonce = 0; nonce < 4; nonce++) {
    const raw = await createStubAccount(ADDRESS).signTransaction({
      chainId: 8453,
      type: 'eip1559',
      nonce,
      gas: 100_000n,
      maxFeePerGas: 10n ** 9n,
      maxPriorityFeePerGas: 10n ** 9n,
      ...programRequest({ kind: 'call', marker: nonce + 1 }),
    })
    hashes.push(chain.submit(raw).hash)
    if (nonce % 2 === 1) chain.seal()
  }
  const beganMs = clock.now()
  const struck: string[] = []
  const { answer } = createUntruth({
    chain,
    faults: [{ target, how, fromMs: 0, forMs: 1_000 }],
    nowMs: () => clock.now() - beganMs,
    onFault: (fault) => struck.push(fault.target),
  })
  const port = createSimPort(chain, { clock, random, untrue: (call, view) => answer(call, view()) })
  async function read(method: string, ...params: unknown[]): Promise<unknown> {
    const calls: RpcCall[] = [{ method, params }]
    const asked = port.batch(calls)
    await clock.advance(100)
    const [reply] = await asked
    return reply?.ok ? reply.result : reply?.failure.message
  }
  return { chain, clock, hashes, read, struck }
}

const count = 'eth_getTransactionCount'

describe('an endpoint that errs for a time', () => {
  test.each([
    ['too high', 'latest', 'countLatest', { kind: 'off', by: 5 }, '0x9'],
    ['too low, and never below 0', 'latest', 'countLatest', { kind: 'off', by: -5 }, '0x0'],
    ['too high at a number', '0x1', 'countAtNumber', { kind: 'off', by: 5 }, '0x7'],
    ['that of two blocks later', '0x0', 'countAtNumber', { kind: 'twoLater' }, '0x4'],
    ['that of the head', '0x0', 'countAtNumber', { kind: 'blockIgnored', shows: 'latest' }, '0x4'],
  ] as const)('has a count that is %s', async (_, block, target, how, said) => {
    const { clock, read, struck } = await setUp(target, how)
    expect(await read(count, ADDRESS, block)).toBe(said)
    expect(struck).toEqual([target])
    await clock.advance(1_000)
    expect(await read(count, ADDRESS, block)).not.toBe(said)
    expect(struck).toEqual([target])
  })

  test.each([
    ['emptyBody', []],
    ['lackingBody', [1]],
  ] as const)('shows a block without some of its content: %s', async (kind, kept) => {
    const { chain, clock, hashes, read, struck } = await setUp('blockByHash', { kind })
    const { hash } = chain.head
    const erring = await read('eth_getBlockByHash', hash, false)
    const empty = await read('eth_getBlockByHash', chain.canonical[0]?.hash, false)
    await clock.advance(1_000)
    const whole = (await read('eth_getBlockByHash', hash, false)) as { gasUsed: string }
    const inBlock = hashes.slice(2)
    expect(whole).toMatchObject({ hash, transactions: inBlock })
    expect(erring).toEqual({ ...whole, transactions: kept.map((index) => inBlock[index]) })
    expect(BigInt(whole.gasUsed)).toBeGreaterThan(0n)
    // A block without transactions loses none, so the fault did not strike there.
    expect(empty).toMatchObject({ transactions: [] })
    expect(struck).toEqual(['blockByHash'])
  })

  test('shows a head that no chain has', async () => {
    const { chain, read } = await setUp('latestHeader', { kind: 'off', by: 5 })
    const head = await read('eth_getBlockByNumber', 'latest', false)
    expect(head).toMatchObject({ number: '0x7' })
    expect(head).not.toMatchObject({ hash: chain.head.hash })
    expect(await read('eth_getBlockByNumber', '0x7', false)).toBeNull()
  })

  test('has no receipt of transactions in its blocks', async () => {
    const { clock, hashes, read } = await setUp('receipt', { kind: 'null' })
    expect(await read('eth_getTransactionReceipt', hashes[0])).toBeNull()
    await clock.advance(1_000)
    expect(await read('eth_getTransactionReceipt', hashes[0])).toMatchObject({ status: '0x1' })
  })
})

describe('the timed faults of a world', () => {
  test('are each drawn for some worlds, and end before the world does', () => {
    const durationMs = 6_000
    const drawn = Array.from({ length: 500 }, (_, seed) => drawTimedFaults(createRandom(seed), durationMs))
    const faults = drawn.flat()
    expect(new Set(faults.map(strikeOf))).toEqual(TIMED_STRIKES)
    for (const { fromMs, forMs } of faults) {
      expect(fromMs).toBeLessThan(durationMs)
      expect(forMs).toBeLessThanOrEqual(durationMs)
    }
    expect(drawn.filter((each) => each.length === 0).length).toBeGreaterThan(250)
  })
})
