import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { batchRefusal, decodeAnswers, encodeCalls } from './envelope.js'
import type { RpcReply } from './port.js'

const kinds = (replies: readonly RpcReply[]) =>
  replies.map((reply) => (reply.ok ? reply.result : `${reply.failure.kind}: ${reply.failure.message}`))
const answer = (id: unknown, result: unknown) => ({ jsonrpc: '2.0', id, result })
const error = (id: unknown, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})
const noPart = 'malformed: no answer has the id of this call'

describe('a request', () => {
  test('is an object for one call, and an array with ascending ids for several', () => {
    const one = { method: 'eth_chainId', params: [] }
    const two = { method: 'eth_getCode', params: ['0x"', 'latest'] }
    expect(JSON.parse(encodeCalls([one], 7))).toEqual({ jsonrpc: '2.0', id: 7, ...one })
    expect(JSON.parse(encodeCalls([one, two], 7))).toEqual([
      { jsonrpc: '2.0', id: 7, ...one },
      { jsonrpc: '2.0', id: 8, ...two },
    ])
  })
})

describe('the answers to a batch', () => {
  test('are assigned to their calls by id, in any order', () => {
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 })
    fc.assert(
      fc.property(order, (positions) => {
        const body = positions.map((position) => answer(100 + position, position))
        expect(kinds(decodeAnswers(body, 100, 8))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      }),
    )
  })

  test('may be partial: the missing calls have no answer', () => {
    expect(kinds(decodeAnswers([answer(101, 'b')], 100, 3))).toEqual([noPart, 'b', noPart])
  })

  test('belong to no call if they have ids of other calls, no ids, or are no objects', () => {
    const body = [
      answer(99, 'x'),
      answer(103, 'x'),
      answer(100.5, 'x'),
      answer(null, 'x'),
      { result: 'x' },
      null,
      'x',
      5,
      [],
    ]
    expect(kinds(decodeAnswers(body, 100, 3))).toEqual([noPart, noPart, noPart])
  })

  test('may echo the ids as strings', () => {
    expect(kinds(decodeAnswers([answer('101', 'b'), answer('100', 'a')], 100, 2))).toEqual(['a', 'b'])
  })

  test('count only the first time an id is answered', () => {
    const body = [answer(100, 'first'), answer(100, 'second'), answer(101, 'b')]
    expect(kinds(decodeAnswers(body, 100, 2))).toEqual(['first', 'b'])
  })

  test('may be errors, each for its own call', () => {
    const body = [error(101, -32000, 'nonce too low'), answer(100, 'a')]
    expect(kinds(decodeAnswers(body, 100, 2))).toEqual(['a', 'rpc: nonce too low'])
  })

  test('are malformed without a result and without an error', () => {
    const body = [{ id: 100 }, { id: 101, error: 'no' }, { id: 102, error: { message: 'no code' } }]
    const neither = 'malformed: the answer has neither a result nor an error object'
    expect(kinds(decodeAnswers(body, 100, 3))).toEqual([neither, neither, neither])
  })

  test('belong to no call if they are one error object; its message is kept', () => {
    const replies = decodeAnswers(error(null, -32600, 'oversized batch'), 100, 2)
    expect(kinds(replies)).toEqual(
      Array(2).fill('malformed: the batch was answered with one error: oversized batch'),
    )
    const [first] = replies
    expect(first?.ok === false && batchRefusal(first.failure)).toEqual({
      code: -32600,
      message: 'oversized batch',
    })
  })

  test.each([null, 5, 'x', {}, { result: 1 }, []])(
    'that are %j leave each call without an answer',
    (body) => {
      expect(kinds(decodeAnswers(body, 100, 2))).toEqual([noPart, noPart])
    },
  )
})

describe('the answer to a single call', () => {
  test('may be wrapped in an array', () => {
    expect(kinds(decodeAnswers([answer(100, 'a')], 100, 1))).toEqual(['a'])
  })

  test('may be null, and a null error beside a result is no error', () => {
    expect(kinds(decodeAnswers(answer(100, null), 100, 1))).toEqual([null])
    expect(kinds(decodeAnswers({ ...answer(100, 'a'), error: null }, 100, 1))).toEqual(['a'])
  })

  test('without an id belongs to that call if it is an error', () => {
    expect(kinds(decodeAnswers(error(null, -32700, 'parse error'), 100, 1))).toEqual(['rpc: parse error'])
  })

  test('is not accepted with a wrong id, be it a result or an error', () => {
    expect(kinds(decodeAnswers(answer(1, 'a'), 100, 1))).toEqual([noPart])
    expect(kinds(decodeAnswers(error(1, -32000, 'nonce too low'), 100, 1))).toEqual([noPart])
    expect(kinds(decodeAnswers({ result: 'a' }, 100, 1))).toEqual([noPart])
  })
})
