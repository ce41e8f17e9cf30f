import { pad } from 'viem'
import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { RpcReply } from '../../rpc/port.js'
import { createArrivals } from './arrivals.js'
import type { SealedBlock } from './follower.js'

const ANVIL = 31_337
const MAINNET = 1

function blockOf(number: number, transactions = 1, timestamp = 0): SealedBlock {
  const hash = pad(`0x${number}`)
  return {
    number,
    hash,
    parentHash: hash,
    timestamp,
    baseFeePerGas: undefined,
    gasLimit: 0n,
    gasUsed: 0n,
    hashes: Array.from({ length: transactions }, () => hash),
  }
}

function opened(chainId: number) {
  const clock = createVirtualClock()
  const arrivals = createArrivals({ clock, chainId })
  arrivals.looked(clock.now())
  arrivals.came([blockOf(1, 0)], false, { seenMs: clock.now() })
  const silence = async (ms: number) => {
    await clock.advance(ms)
    arrivals.looked(clock.now())
  }
  return { clock, arrivals, silence }
}

describe('the time between blocks by their timestamps', () => {
  const steps: [string, readonly (readonly [number: number, timestamp: number])[], number | undefined][] = [
    ['one block', [[1, 100]], undefined],
    [
      'one a second later',
      [
        [1, 100],
        [2, 101],
      ],
      1_000,
    ],
    [
      'four in ten seconds',
      [
        [1, 100],
        [5, 110],
      ],
      2_500,
    ],
    [
      'one of the same second',
      [
        [1, 100],
        [2, 100],
      ],
      undefined,
    ],
    [
      'one that is older',
      [
        [1, 100],
        [2, 99],
      ],
      undefined,
    ],
    [
      'another one of the same number',
      [
        [1, 100],
        [1, 102],
      ],
      undefined,
    ],
  ]
  test.each(steps)('%s', (_, blocks, expected) => {
    const arrivals = createArrivals({ clock: createVirtualClock() })
    for (const [number, timestamp] of blocks)
      arrivals.came([blockOf(number, 1, timestamp)], true, { seenMs: 0 })
    expect(arrivals.stampedMs).toBe(expected)
  })
})

const named = (result: unknown): RpcReply => ({ ok: true, result })

describe('a development node is at rest', () => {
  test('15 s after its newest block, and no longer once another comes', async () => {
    const { clock, arrivals, silence } = opened(ANVIL)
    await silence(14_999)
    expect(arrivals.isAtRest).toBe(false)
    await silence(1)
    expect(arrivals.isAtRest).toBe(true)
    arrivals.came([blockOf(2)], true, { seenMs: clock.now() })
    expect(arrivals.isAtRest).toBe(false)
  })

  test('only if the endpoint was polled all the time: its own silence proves nothing', async () => {
    const { clock, arrivals, silence } = opened(ANVIL)
    await clock.advance(60_000)
    expect(arrivals.isAtRest).toBe(false)
    await silence(0)
    expect(arrivals.isAtRest).toBe(true)
  })

  test('never once it made a block without transactions: the next one is only late', async () => {
    const { clock, arrivals, silence } = opened(ANVIL)
    arrivals.came([blockOf(2), blockOf(3, 0)], true, { seenMs: clock.now() })
    await silence(600_000)
    expect(arrivals.isAtRest).toBe(false)
  })
})

describe('on a chain with another id', () => {
  test('is not read again from a node whose client version is known', async () => {
    const clock = createVirtualClock()
    const arrivals = createArrivals({ clock, chainId: MAINNET, client: () => 'anvil/v1.7.1' })
    arrivals.looked(clock.now())
    arrivals.came([blockOf(1, 0)], false, { seenMs: clock.now() })
    await clock.advance(15_000)
    arrivals.looked(clock.now())
    expect(arrivals.parts()).toEqual([])
    expect(arrivals.isAtRest).toBe(true)
  })

  test.each(['anvil/v1.7.1', 'HardhatNetwork/2.29.0/@nomicfoundation/edr/0.12', 'Ganache/v7.9.2/EthereumJS'])(
    'is read from the node once, after the silence: %s is at rest',
    async (name) => {
      const { arrivals, silence } = opened(MAINNET)
      expect(arrivals.parts()).toEqual([])
      await silence(15_000)
      expect(arrivals.isAtRest).toBe(false)
      const [part] = arrivals.parts()
      expect(part?.call).toEqual({ method: 'web3_clientVersion', params: [] })
      part?.take(named(name))
      expect(arrivals.isAtRest).toBe(true)
      expect(arrivals.parts()).toEqual([])
    },
  )

  test.each<[string, RpcReply]>([
    ['Geth/v1.17.10-stable', named('Geth/v1.17.10-stable/linux-amd64/go1.26')],
    ['a name that only contains a known one', named('notanvil/v1')],
    ['a refusal', { ok: false, failure: { kind: 'rpc', code: -32601, message: 'not supported' } }],
    ['nonsense', named({})],
  ])('%s is never at rest', async (_, reply) => {
    const { arrivals, silence } = opened(MAINNET)
    await silence(15_000)
    for (const { take } of arrivals.parts()) take(reply)
    await silence(600_000)
    expect(arrivals.isAtRest).toBe(false)
    expect(arrivals.parts()).toEqual([])
  })

  test('starts again with another endpoint', async () => {
    const { arrivals, silence } = opened(MAINNET)
    await silence(15_000)
    for (const { take } of arrivals.parts()) take(named('anvil/v1.7.1'))
    arrivals.elsewhere()
    expect(arrivals.isAtRest).toBe(false)
    expect(arrivals.parts()).toHaveLength(1)
  })
})

describe('a block that has stood for 2 s', () => {
  test('is not proved by time alone: it does not pass while the next block is overdue', async () => {
    const { clock, arrivals } = opened(MAINNET)
    let number = 1
    const blocks = async (count: number) => {
      for (const last = number + count; number < last; ) {
        await clock.advance(200)
        number++
        arrivals.came([blockOf(number, 1, Math.floor(number / 5))], true, { seenMs: clock.now() })
      }
    }
    await blocks(5)
    await clock.advance(60_000)
    expect(arrivals.stoodUpTo).toBe(-1)
    // An endpoint that stood still on an old branch may show more of that branch.
    await blocks(1)
    expect(arrivals.stoodUpTo).toBe(-1)
    await blocks(9)
    expect(arrivals.stoodUpTo).toBe(6)
    await clock.advance(200)
    expect(arrivals.stoodUpTo).toBe(7)
  })

  test('is not proved by the few blocks of an endpoint that shows one of them late', async () => {
    const { clock, arrivals } = opened(MAINNET)
    const came = async (afterMs: number, numbers: readonly number[]) => {
      await clock.advance(afterMs)
      const blocks = numbers.map((number) => blockOf(number, 1, Math.floor(number / 5)))
      arrivals.came(blocks, true, { seenMs: clock.now() })
    }
    await came(750, [2, 3, 4])
    await came(1_900, [5])
    await clock.advance(1_900)
    expect(arrivals.stoodUpTo).toBe(-1)
  })
})
