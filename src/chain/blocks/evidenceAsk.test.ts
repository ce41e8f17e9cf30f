import { describe, expect, test } from 'vitest'
import { scriptedPort } from '../../../test/support/scriptedChain.js'
import type { Port } from '../../rpc/port.js'
import { ADDRESS } from './evidenceAsk.fixture.js'
import { ask } from './evidenceAsk.js'

const calls = Array.from({ length: 5 }, (_, index) => ({ method: `call_${index}`, params: [] }))
const RESULTS = calls.map(({ method }) => ({ ok: true, result: method }))

/** Answers each call with its name, and the chain id as it is given. */
const named = (chainId: unknown = '0x1') =>
  scriptedPort(({ method }) => ({ ok: true, result: method === 'eth_chainId' ? chainId : method }))
const sizes = (port: ReturnType<typeof named>) => port.batches.map(({ length }) => length)

describe('a batch of questions', () => {
  test('is one request, up to 17 calls, and is answered in order', async () => {
    const port = named()
    expect(await ask(port, { address: ADDRESS }, calls)).toEqual(RESULTS)
    expect(sizes(port)).toEqual([5])
    const wide = named()
    await ask(
      wide,
      { address: ADDRESS },
      Array.from({ length: 18 }, () => calls[0] as (typeof calls)[0]),
    )
    expect(sizes(wide)).toEqual([17, 1])
  })

  test('is as many requests as the endpoint needs: no call is left out, and none asked twice', async () => {
    const port = named()
    expect(await ask(port, { address: ADDRESS, batchMax: 2 }, calls)).toEqual(RESULTS)
    expect(port.batches.flat()).toEqual(calls)
    expect(sizes(port)).toEqual([2, 2, 1])
  })

  test('is no request where nothing is left to ask', async () => {
    for (const [some, count] of [
      [[], 0],
      [calls, 1],
    ] as const) {
      const port = named()
      await ask(port, { address: ADDRESS, batchMax: calls.length }, some)
      expect(sizes(port)).toHaveLength(count)
    }
  })

  test('asks for the chain id beside, where one is given, and keeps the answer to itself', async () => {
    const port = named()
    expect(await ask(port, { address: ADDRESS, chainId: 1 }, calls)).toEqual(RESULTS)
    expect(port.batches).toEqual([[...calls, { method: 'eth_chainId', params: [] }]])
  })

  test('goes out with the signal that may end it', async () => {
    const signals: unknown[] = []
    const port: Port = {
      ...named(),
      async batch(some, options) {
        signals.push(options?.signal)
        return some.map(() => ({ ok: true, result: null }))
      },
    }
    const { signal } = new AbortController()
    await ask(port, { address: ADDRESS, signal, batchMax: 3 }, calls)
    expect(signals).toEqual([signal, signal])
  })
})

describe('nothing is answered', () => {
  test('where the endpoint says another chain id, or none that can be read', async () => {
    const query = { address: ADDRESS, chainId: 1 } as const
    expect(await ask(named(), query, calls)).toEqual(RESULTS)
    for (const chainId of ['0x2', null, 'x', {}]) expect(await ask(named(chainId), query, calls)).toEqual([])
  })

  test('where a request was answered with too few replies, or too many', async () => {
    for (const change of [-1, 1]) {
      const port: Port = {
        ...named(),
        batch: async (some) =>
          Array.from({ length: some.length + change }, () => ({ ok: true, result: '0x1' })),
      }
      expect(await ask(port, { address: ADDRESS, batchMax: 2 }, calls)).toEqual([])
    }
  })
})
