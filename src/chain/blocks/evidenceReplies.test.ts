import { describe, expect, it } from 'vitest'
import { rpcFailure } from '../../../test/support/scriptedChain.js'
import type { RpcReply } from '../../rpc/port.js'
import { readBlock, readCount, readCountAtHash, readDelegated, readNumber } from './evidenceReplies.js'

const answer = (result: unknown): RpcReply => ({ ok: true, result })
const SILENT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer' } }
/** No reply for the call, none of the node, and results that are not what was asked for. */
const UNUSABLE = [undefined, SILENT, ...[undefined, null, 12, 'x', {}, []].map(answer)]

const readings = { readBlock, readCount, readCountAtHash, readDelegated, readNumber } as const

describe('a reading', () => {
  it.each(Object.keys(readings) as (keyof typeof readings)[])(
    '%s is none, and no error, where there is no reply, or none that can be decoded',
    (name) => {
      for (const reply of UNUSABLE)
        expect(readings[name](reply, 'eth_chainId'), JSON.stringify(reply)).toBeUndefined()
    },
  )

  it('tells the code of a delegation from other code, and from none', () => {
    const target = '12'.repeat(20)
    expect(readDelegated(answer(`0xef0100${target}`))).toBe(true)
    expect(readDelegated(answer(`0xEF0100${target}`))).toBe(true)
    for (const code of ['0x', `0xef0101${target}`, `0x60ef0100${target}`])
      expect(readDelegated(answer(code)), code).toBe(false)
  })
})

describe('a count at a block named by its hash', () => {
  it('is the one that was answered', () => {
    expect(readCountAtHash(answer('0x7'))).toBe(7)
  })

  it('is refused where the node takes no hashes, as its words or the code of its error say', () => {
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

  it('is not known where the node knows no such block, also with the code of a parameter that is not valid', () => {
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

  it('is not known where the error says neither', () => {
    expect(readCountAtHash(rpcFailure(-32000, 'execution aborted'))).toBeUndefined()
  })
})
