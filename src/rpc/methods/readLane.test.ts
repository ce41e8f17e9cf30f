import { describe, expect, test } from 'vitest'
import {
  createCallPort,
  createStubPort,
  hashOf,
  rawBlock,
  type StubAnswer,
} from '../../../test/contract/stubPort.js'
import type { RpcCall } from '../port.js'
import { profileOf } from '../profile.js'
import { readLane } from './readLane.js'

const address = '0x1111111111111111111111111111111111111111'
const word = (digit: string) => `0x${digit.padStart(64, '0')}`
const refused: StubAnswer = { failure: { kind: 'rpc', code: -32602, message: 'unknown block tag' } }

type Node = {
  /** The pending block, by the number of the batch and whether it is the first of the two headers. */
  pending?: (batch: number, first: boolean) => StubAnswer
  latest?: object
}

/** A node with 5 sealed and 7 pending transactions of the account. */
function node({ pending = () => ({ result: rawBlock({ number: '0x11' }) }), latest = {} }: Node = {}) {
  return createStubPort((calls, batch) =>
    calls.map(({ method, params }, index) => {
      const block = params.at(-1) === false ? params[0] : params.at(-1)
      if (method === 'eth_getTransactionCount') return { result: block === 'pending' ? '0x7' : '0x5' }
      if (method === 'eth_getCode') return { result: '0x' }
      if (method === 'eth_getStorageAt') return { result: word(block === 'pending' ? '2' : '1') }
      return block === 'pending' ? pending(batch, index === 0) : { result: rawBlock(latest) }
    }),
  )
}

describe('a reading of a lane', () => {
  test('is one batch, with the pending header first and last', async () => {
    const port = node()
    const lane = await readLane(port, { address, slots: [5n] })
    expect(lane).toMatchObject({
      latest: { header: { number: 16 }, count: 5, code: '0x', storage: [word('1')] },
      pending: { header: { number: 17 }, count: 7, code: '0x', storage: [word('2')] },
      withoutPending: undefined,
      account: { kind: 'plain' },
    })
    const pendingHeader: RpcCall = { method: 'eth_getBlockByNumber', params: ['pending', false] }
    expect(port.batches).toHaveLength(1)
    expect([port.batches[0]?.[0], port.batches[0]?.at(-1)]).toEqual([pendingHeader, pendingHeader])
  })

  test('is repeated if the pending block changed in between', async () => {
    const port = node({
      pending: (batch, first) => ({
        result: rawBlock({ number: '0x11', hash: hashOf(batch === 1 && first ? 'c' : 'd') }),
      }),
    })
    expect((await readLane(port, { address })).pending?.count).toBe(7)
    expect(port.batches).toHaveLength(2)
  })

  test('is repeated at most twice, and then has no pending part', async () => {
    const port = node({
      pending: (_, first) => ({ result: rawBlock({ number: '0x11', hash: hashOf(first ? 'c' : 'd') }) }),
    })
    expect(await readLane(port, { address })).toMatchObject({
      latest: { count: 5 },
      pending: undefined,
      withoutPending: 'refuted',
    })
    expect(port.batches).toHaveLength(3)
  })

  test('is not repeated if it was split into several requests', async () => {
    const port = node({
      pending: (_, first) => ({ result: rawBlock({ number: '0x11', hash: hashOf(first ? 'c' : 'd') }) }),
    })
    const asked: number[] = []
    const isWhole = (calls: number) => asked.push(calls) === 0
    expect((await readLane(port, { address }, { isWhole })).withoutPending).toBe('refuted')
    expect(port.batches).toHaveLength(1)
    expect(asked).toEqual([port.batches[0]?.length])
  })

  test('is refuted by a pending block below the latest one', async () => {
    const port = node({ latest: { number: '0x12' } })
    expect((await readLane(port, { address })).withoutPending).toBe('refuted')
    expect(port.batches).toHaveLength(3)
  })

  test('accepts a pending block without number and hash', async () => {
    const port = node({ pending: () => ({ result: rawBlock({ number: null, hash: hashOf('0') }) }) })
    expect((await readLane(port, { address })).pending).toMatchObject({
      count: 7,
      header: { number: null, hash: null },
    })
  })

  test.each([
    ['refuses the tag', refused],
    ['answers null', { result: null }],
  ])('has no pending part on an endpoint that %s, which is remembered', async (_, answer) => {
    const port = node({ pending: () => answer })
    expect(await readLane(port, { address })).toMatchObject({ pending: undefined, withoutPending: 'absent' })
    expect(port.batches).toHaveLength(1)
    expect(profileOf(port).current().pending).toBe('absent')
  })

  test('distinguishes a delegated account from a contract', async () => {
    const to = '2222222222222222222222222222222222222222'
    const withCode = (code: string) =>
      createCallPort(({ method, params }) => {
        if (method === 'eth_getBlockByNumber')
          return { result: rawBlock({ number: params[0] === 'pending' ? '0x11' : '0x10' }) }
        return { result: method === 'eth_getCode' ? code : '0x1' }
      })
    const kindOf = async (code: string) => (await readLane(withCode(code), { address })).account
    expect(await kindOf(`0xef0100${to}`)).toEqual({ kind: 'delegated', to: `0x${to}` })
    expect(await kindOf('0x6001')).toEqual({ kind: 'contract' })
    expect(await kindOf(`0xef0100${to}00`)).toEqual({ kind: 'contract' })
  })

  test('includes storage at other addresses, and sends nothing for an invalid one', async () => {
    const other = '0x2222222222222222222222222222222222222222'
    const port = node()
    await readLane(port, { address, slots: [{ address: other, slot: '0x05' }] })
    expect(port.batches[0]).toContainEqual({ method: 'eth_getStorageAt', params: [other, '0x05', 'pending'] })
    const bad = readLane(port, { address, slots: [1n, { address: '0x22', slot: 1n }] })
    await expect(bad).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('slots[1].address'),
    })
    expect(port.batches).toHaveLength(1)
  })

  test('includes the chain id if one is named, and rejects an endpoint of another chain', async () => {
    const on = (id: string) =>
      createStubPort((calls) =>
        calls.map(({ method }) => {
          if (method === 'eth_chainId') return { result: id }
          if (method === 'eth_getTransactionCount') return { result: '0x5' }
          return method === 'eth_getCode' ? { result: '0x' } : { result: rawBlock({}) }
        }),
      )
    const [ours, other] = [on('0x1'), on('0x2a')]
    expect(await readLane(ours, { address, chainId: 1 })).toMatchObject({ latest: { count: 5 } })
    expect(ours.batches).toHaveLength(1)
    await expect(readLane(other, { address, chainId: 1 })).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' })
    await expect(readLane(ours, { address, chainId: 0 })).rejects.toMatchObject({ code: 'INVALID' })
    expect(ours.batches).toHaveLength(1)
  })

  test('fails with a typed error if the sealed part cannot be read', async () => {
    const port = createStubPort((calls) =>
      calls.map(() => ({ failure: { kind: 'timeout', message: 'late' } })),
    )
    await expect(readLane(port, { address })).rejects.toMatchObject({
      name: 'TxlaneError',
      failure: 'timeout',
    })
  })
})
