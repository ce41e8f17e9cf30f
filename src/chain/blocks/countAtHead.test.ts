import type { Hash } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  hashOf,
  isByHash,
  isCount,
  rpcFailure,
  scriptedChain,
  scriptedPort,
} from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import { ADDRESS, chainWith, foreign, mine } from './evidenceAsk.fixture.js'
import { readCountAtHead } from './nonceEvidence.js'

const chain = chainWith(10, { 5: [mine(0)], 9: [foreign(1)] })
const count = (value: number): RpcReply => ({ ok: true, result: `0x${value.toString(16)}` })
const SILENT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer' } }

/** Reads at block 9, which was walked with `hash`. */
function read(
  answer: Parameters<typeof scriptedPort>[0] = chain.answer,
  over: { hash?: Hash; chainId?: number } = {},
) {
  const query = { address: ADDRESS, to: 9, hash: chain.blockHash(9), ...over } as const
  return readCountAtHead(scriptedPort(answer), query)
}

describe('readCountAtHead', () => {
  it('is the count at the block that was walked, by its number and by its hash', async () => {
    expect(await read()).toBe(2)
  })

  it('is not known where the endpoint has another block there: before, or once the counts are read', async () => {
    const fork = scriptedChain(
      ADDRESS,
      Array.from({ length: 10 }, () => []),
      { id: 1, forkedAt: 9 },
    )
    expect(await read(fork.answer)).toBeUndefined()
    for (const header of [0, 3]) {
      const found = await read((call, at) => (at.call === header ? fork : chain).answer(call))
      expect(found, `header of call ${header}`).toBeUndefined()
    }
    expect(await read(chain.answer, { hash: hashOf('block', 9, 9) })).toBeUndefined()
  })

  it('is not known where a reading of the block was not answered: before the counts, or after them', async () => {
    for (const header of [0, 3]) {
      const found = await read((call, at) => (at.call === header ? SILENT : chain.answer(call)))
      expect(found, `header of call ${header}`).toBeUndefined()
    }
  })

  it('is not known where the two readings differ, or one of them was not answered', async () => {
    for (const reply of [count(1), count(3), SILENT, rpcFailure(-32000, 'header not found')]) {
      for (const isAsked of [isByHash, (call: RpcCall) => isCount(call) && !isByHash(call)])
        expect(await read((call) => (isAsked(call) ? reply : chain.answer(call)))).toBeUndefined()
    }
  })

  it('is that by number alone where the node takes no hashes', async () => {
    const refusal = rpcFailure(-32602, 'invalid params')
    expect(await read((call) => (isByHash(call) ? refusal : chain.answer(call)))).toBe(2)
  })

  it('is not known where the node has no state there', async () => {
    const pruned = rpcFailure(-32000, 'missing trie node')
    expect(await read((call) => (isCount(call) ? pruned : chain.answer(call)))).toBeUndefined()
    // Nor does it take hashes.
    const refusal = rpcFailure(-32602, 'invalid params')
    const both = await read((call) => {
      if (!isCount(call)) return chain.answer(call)
      return isByHash(call) ? refusal : pruned
    })
    expect(both).toBeUndefined()
  })

  it('is not known from an endpoint on another chain', async () => {
    expect(await read(chain.answer, { chainId: 1 })).toBe(2)
    expect(await read(chain.answer, { chainId: 2 })).toBeUndefined()
  })
})
