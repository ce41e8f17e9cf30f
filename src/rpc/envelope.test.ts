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
  test('for one call is an object, for several an array, with ids that count up', () => {
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
  test('go to their calls whatever the order, by property', () => {
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 })
    fc.assert(
      fc.property(order, (positions) => {
        const body = positions.map((position) => answer(100 + position, position))
        expect(kinds(decodeAnswers(body, 100, 8))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      }),
    )
  })

  test('may be missing in part: those calls have no answer', () => {
    expect(kinds(decodeAnswers([answer(101, 'b')], 100, 3))).toEqual([noPart, 'b', noPart])
  })

  test('with ids of other calls, without ids, or that are no objects belong to no call', () => {
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

  test('count the first time an id is answered', () => {
    const body = [answer(100, 'first'), answer(100, 'second'), answer(101, 'b')]
    expect(kinds(decodeAnswers(body, 100, 2))).toEqual(['first', 'b'])
  })

  test('may be errors, each of its own call', () => {
    const body = [error(101, -32000, 'nonce too low'), answer(100, 'a')]
    expect(kinds(decodeAnswers(body, 100, 2))).toEqual(['a', 'rpc: nonce too low'])
  })

  test('with neither result nor error are malformed', () => {
    const body = [{ id: 100 }, { id: 101, error: 'no' }, { id: 102, error: { message: 'no code' } }]
    const neither = 'malformed: the answer has neither a result nor an error object'
    expect(kinds(decodeAnswers(body, 100, 3))).toEqual([neither, neither, neither])
  })

  test('that are one error object are no word on any call, and keep what was said', () => {
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

  test.each([null, 5, 'x', {}, { result: 1 }, []])('that are %j leave each call without one', (body) => {
    expect(kinds(decodeAnswers(body, 100, 2))).toEqual([noPart, noPart])
  })
})

describe('the answer to a single call', () => {
  test('may come in an array', () => {
    expect(kinds(decodeAnswers([answer(100, 'a')], 100, 1))).toEqual(['a'])
  })

  test('may be null, and an error of null beside a result is none', () => {
    expect(kinds(decodeAnswers(answer(100, null), 100, 1))).toEqual([null])
    expect(kinds(decodeAnswers({ ...answer(100, 'a'), error: null }, 100, 1))).toEqual(['a'])
  })

  test('that is an error without id is of that call', () => {
    expect(kinds(decodeAnswers(error(null, -32700, 'parse error'), 100, 1))).toEqual(['rpc: parse error'])
  })

  test('with the wrong id is not believed, be it a result or an error', () => {
    expect(kinds(decodeAnswers(answer(1, 'a'), 100, 1))).toEqual([noPart])
    expect(kinds(decodeAnswers(error(1, -32000, 'nonce too low'), 100, 1))).toEqual([noPart])
    expect(kinds(decodeAnswers({ result: 'a' }, 100, 1))).toEqual([noPart])
  })
})
