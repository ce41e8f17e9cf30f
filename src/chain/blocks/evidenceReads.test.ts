import { describe, expect, it, test } from 'vitest'
import { rpcFailure, scriptedPort } from '../../../test/support/scriptedChain.js'
import type { Port, RpcReply } from '../../rpc/port.js'
import { ADDRESS } from './evidenceAsk.fixture.js'
import { ask, readBlock, readCount, readCountAtHash, readDelegated, readNumber } from './evidenceReads.js'

const calls = Array.from({ length: 5 }, (_, index) => ({ method: `call_${index}`, params: [] }))
const RESULTS = calls.map(({ method }) => ({ ok: true, result: method }))

/** Answers each call with its name, and the chain id with the given value. */
const named = (chainId: unknown = '0x1') =>
  scriptedPort(({ method }) => ({ ok: true, result: method === 'eth_chainId' ? chainId : method }))
const sizes = (port: ReturnType<typeof named>) => port.batches.map(({ length }) => length)

describe('a batch of calls', () => {
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

  test('is split to the limit of the endpoint: no call is omitted, and none sent twice', async () => {
    const port = named()
    expect(await ask(port, { address: ADDRESS, batchMax: 2 }, calls)).toEqual(RESULTS)
    expect(port.batches.flat()).toEqual(calls)
    expect(sizes(port)).toEqual([2, 2, 1])
  })

  test('is no request if there is no call left', async () => {
    for (const [some, count] of [
      [[], 0],
      [calls, 1],
    ] as const) {
      const port = named()
      await ask(port, { address: ADDRESS, batchMax: calls.length }, some)
      expect(sizes(port)).toHaveLength(count)
    }
  })

  test('adds the chain id if one is given, and removes its answer', async () => {
    const port = named()
    expect(await ask(port, { address: ADDRESS, chainId: 1 }, calls)).toEqual(RESULTS)
    expect(port.batches).toEqual([[...calls, { method: 'eth_chainId', params: [] }]])
  })

  test('is sent with the abort signal', async () => {
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

describe('no answer is returned', () => {
  test('if the endpoint has another chain id, or an unreadable one', async () => {
    const query = { address: ADDRESS, chainId: 1 } as const
    expect(await ask(named(), query, calls)).toEqual(RESULTS)
    for (const chainId of ['0x2', null, 'x', {}]) expect(await ask(named(chainId), query, calls)).toEqual([])
  })

  test('if a request was answered with too few replies, or too many', async () => {
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

const answer = (result: unknown): RpcReply => ({ ok: true, result })
const SILENT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer' } }
/** No reply for the call, no result from the node, and results of another type. */
const UNUSABLE = [undefined, SILENT, ...[undefined, null, 12, 'x', {}, []].map(answer)]

const readings = { readBlock, readCount, readCountAtHash, readDelegated, readNumber } as const

describe('a reading', () => {
  it.each(Object.keys(readings) as (keyof typeof readings)[])(
    '%s is none, and no error, without a reply that can be decoded',
    (name) => {
      for (const reply of UNUSABLE)
        expect(readings[name](reply, 'eth_chainId'), JSON.stringify(reply)).toBeUndefined()
    },
  )

  it('distinguishes the code of a delegation from other code, and from none', () => {
    const target = '12'.repeat(20)
    expect(readDelegated(answer(`0xef0100${target}`))).toBe(true)
    expect(readDelegated(answer(`0xEF0100${target}`))).toBe(true)
    for (const code of ['0x', `0xef0101${target}`, `0x60ef0100${target}`])
      expect(readDelegated(answer(code)), code).toBe(false)
  })
})

describe('a count at a block named by its hash', () => {
  it('is the answered count', () => {
    expect(readCountAtHash(answer('0x7'))).toBe(7)
  })

  it('is refused if the node does not support hashes, according to its message or error code', () => {
    const gateway: RpcReply = {
      ok: false,
      failure: { kind: 'http', status: 400, message: 'HTTP 400', rpc: { code: -32602, message: 'no' } },
    }
    const refusals = [
      rpcFailure(-32602, 'no'),
      rpcFailure(-32600, 'no'),
      rpcFailure(-32000, 'json: cannot unmarshal object into Go value of type string'),
      rpcFailure(-32000, 'invalid argument 1'),
      gateway,
    ]
    for (const reply of refusals) expect(readCountAtHash(reply), JSON.stringify(reply)).toBe('refused')
  })

  it('is unknown if the node knows no such block, even with the code of an invalid parameter', () => {
    for (const code of [-32000, -32001, -32602])
      for (const words of [
        'header not found',
        'the block could not be found',
        'unknown block',
        'unknown header',
        'hash is not currently canonical',
        'missing block',
        'invalid block: not found',
      ])
        expect(readCountAtHash(rpcFailure(code, words)), `${code} ${words}`).toBeUndefined()
  })

  it('is unknown if the error matches neither case', () => {
    expect(readCountAtHash(rpcFailure(-32000, 'execution aborted'))).toBeUndefined()
  })
})
