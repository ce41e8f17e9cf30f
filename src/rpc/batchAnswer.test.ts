import { describe, expect, test } from 'vitest'
import { type BatchAnswer, isSameFailure, readBatchAnswer, readSingleAnswer } from './batchAnswer.js'
import type { BatchRefusal } from './envelope.js'
import type { RpcFailure, RpcReply } from './port.js'

const OK: RpcReply = { ok: true, result: '0x1' }
const failed = (failure: RpcFailure): RpcReply => ({ ok: false, failure })
const rpc = (code: number, message: string) => failed({ kind: 'rpc', code, message })
const http = (status: number, said?: { code: number; message: string }) => {
  const message = said === undefined ? `HTTP ${status}` : `HTTP ${status}: ${said.message}`
  return failed({ kind: 'http', status, message, ...(said === undefined ? {} : { rpc: said }) })
}
const network = (message = 'socket hang up') => failed({ kind: 'network', message })
const custom = (message: string) => failed({ kind: 'custom', message, cause: undefined })
const ofBatch = (code: number, message: string) =>
  failed({ kind: 'malformed', message, ofBatch: { code, message } } as BatchRefusal)
const error = (message: string, code = -32000) => ({ code, message })

const TIMEOUT = failed({ kind: 'timeout', message: 'no answer within 10000 ms' })
const ABORTED = failed({ kind: 'aborted', message: 'given up' })
const NO_PART = failed({ kind: 'malformed', message: 'no answer has the id of this call' })
const CUT = failed({ kind: 'malformed', message: 'too large', cut: true })

type Case = readonly [what: string, replies: readonly RpcReply[]]
type Kind = Exclude<BatchAnswer['kind'], 'answered'>

const twice = (reply: RpcReply) => [reply, reply]

describe('a batch of which at least one call has an answer of its own', () => {
  test.each<readonly [string, readonly RpcReply[], readonly number[]]>([
    ['results', [OK, OK], []],
    ['errors that differ in their words', [rpc(-32000, 'nonce too low'), rpc(-32000, 'already known')], []],
    ['errors that differ in their codes', [rpc(-32000, 'no'), rpc(-32603, 'no')], []],
    ['errors that are the same, beside a result', [rpc(-32000, 'no'), rpc(-32000, 'no'), OK], []],
    [
      'errors that are the same, beside a rate limit',
      [rpc(-32000, 'no'), rpc(-32000, 'no'), rpc(-32005, 'rate limit exceeded')],
      [],
    ],
    ['errors that are the same, beside a time limit', [rpc(-32000, 'no'), rpc(-32000, 'no'), TIMEOUT], []],
    ['the same rejections of a custom transport', twice(custom('no')), []],
    [
      'an HTTP status with an error for each call',
      [http(403, error('nonce too low')), http(403, error('already known'))],
      [],
    ],
    ['nothing for one call', [OK, NO_PART, OK], [1]],
    ['a lost connection for one call', [network(), OK], [0]],
    ['an error in strange words for a batch for one call', [OK, ofBatch(-32000, 'no')], [1]],
    ['the limit of a batch for one call', [OK, rpc(-32003, 'response too large')], [1]],
    ['an invalid request for one call', [OK, rpc(-32600, 'no')], [1]],
    [
      'an HTTP status with an error for some calls',
      [http(403, error('nonce too low')), http(403, error('already known')), http(403)],
      [2],
    ],
  ])('is answered, and those without one are open: %s', (_, replies, open) => {
    expect(readBatchAnswer(replies)).toEqual({ kind: 'answered', open })
  })
})

describe('a call that went alone', () => {
  test.each<readonly [string, RpcReply]>([
    ['a result', OK],
    ['an error', rpc(-32000, 'no')],
    ['an HTTP status that may be about the call', http(404)],
    ['such a status with an error', http(403, error('no'))],
    ['a rejection of a custom transport', custom('no')],
  ])('is answered by %s', (_, reply) => {
    expect(readBatchAnswer([reply])).toEqual({ kind: 'answered', open: [] })
    expect(readSingleAnswer(reply)).toBe('word')
  })

  test.each<readonly [string, RpcReply]>([
    ['HTTP 400', http(400)],
    ['HTTP 413', http(413)],
    ['HTTP 422', http(422)],
    ['an invalid request', rpc(-32600, 'no')],
    ['words about a batch', rpc(-32000, 'batch too large')],
  ])('is answered by %s as well, though a batch is refused with it', (_, reply) => {
    expect(readSingleAnswer(reply)).toBe('word')
    expect(readBatchAnswer(twice(reply))).toEqual({ kind: 'refused' })
  })

  test.each<readonly [string, RpcReply]>([
    ['HTTP 500', http(500)],
    ['HTTP 502 with an error', http(502, error('no'))],
    ['a lost connection', network()],
    ['an answer without a part for it', NO_PART],
    ['an error in strange words for a batch', ofBatch(-32000, 'no')],
    ['an error of some limit for a batch', ofBatch(-32005, 'limit exceeded')],
  ])('has no answer with %s', (_, reply) => {
    expect(readBatchAnswer([reply])).toEqual({ kind: 'silent' })
    expect(readSingleAnswer(reply)).toBe('silent')
  })

  test.each<readonly [Kind, string, RpcReply]>([
    ['limited', 'HTTP 429', http(429)],
    ['limited', 'an error of a rate limit', rpc(-32016, 'over rate limit')],
    ['limited', 'an error of some limit', rpc(-32005, 'limit exceeded')],
    ['limited', 'a rate limit for a batch', ofBatch(-32005, 'rate limit exceeded')],
    ['cut', 'an answer that is too large', CUT],
    ['over', 'a time limit', TIMEOUT],
    ['over', 'the end that a caller set', ABORTED],
  ])('ends what is asked: %s, with %s', (kind, _, reply) => {
    expect(readBatchAnswer([reply])).toEqual({ kind })
    expect(readSingleAnswer(reply)).toBe('ends')
  })
})

describe('a batch without a result', () => {
  const CASES: Readonly<Record<Kind, readonly Case[]>> = {
    alike: [
      ['the same error for each', twice(rpc(-32000, 'no'))],
      ['the same error for one, and nothing for the others', [NO_PART, rpc(-32000, 'no'), network()]],
      ['a status with an error for one, and nothing for the other', [http(403, error('no')), http(403)]],
      ['some limit for each', twice(rpc(-32005, 'limit exceeded'))],
      ['some limit for each, with a full stop', twice(rpc(-32005, 'Limit exceeded.'))],
      ['a limit of requests for each', twice(rpc(-32005, 'request limit exceeded'))],
      ['some limit for one, and nothing for the others', [rpc(-32005, 'limit exceeded'), NO_PART]],
    ],
    refused: [
      ['an invalid request for one, and nothing for the others', [rpc(-32600, 'no'), NO_PART]],
      ['one answer that the request is invalid', twice(ofBatch(-32600, 'no'))],
      ['words about the calls of a request', twice(rpc(-32005, 'too many calls in one request'))],
      ['a status with an error about batches', twice(http(403, error('batch requests are not allowed')))],
      [
        'a status with words about batches',
        twice(failed({ kind: 'http', status: 403, message: 'HTTP 403: batch requests are not allowed' })),
      ],
    ],
    silent: [
      ['one HTTP status for all', twice(http(404))],
      ['one HTTP status with an error for all', twice(http(403, error('no')))],
      ['a server error', twice(http(500))],
      ['nothing for each', twice(NO_PART)],
      ['a lost connection', twice(network())],
      ['one error in strange words for all', twice(ofBatch(-32000, 'no'))],
      ['one error of some limit for all', twice(ofBatch(-32005, 'limit exceeded'))],
    ],
    limited: [
      ['a rate limit for each', twice(rpc(-32016, 'over rate limit'))],
      ['a limit that says of what', twice(rpc(-32005, 'limit exceeded for 10 calls a second'))],
      ['a limit that goes on after a colon', twice(rpc(-32005, 'limit exceeded: 10 a second'))],
      ['HTTP 429', twice(http(429))],
      ['limits in different words', [rpc(-32005, 'limit exceeded'), rpc(-32005, 'request limit exceeded')]],
      ['some limit for one, and an answer that is too large', [rpc(-32005, 'limit exceeded'), CUT]],
    ],
    cut: [['an answer that is too large', twice(CUT)]],
    over: [
      ['a time limit', twice(TIMEOUT)],
      ['a time limit for one, and nothing for the other', [NO_PART, TIMEOUT]],
      ['the end that a caller set', twice(ABORTED)],
    ],
  }
  const cases = Object.entries(CASES).flatMap(([kind, some]) => some.map((one) => [kind, ...one] as const))

  test.each(cases)('is %s: %s', (kind, _, replies) => {
    expect(readBatchAnswer(replies)).toEqual({ kind })
  })
})

describe('two failures', () => {
  const DIFFERENT: readonly RpcReply[] = [
    rpc(-32000, 'no'),
    rpc(-32603, 'no'),
    rpc(-32000, 'not now'),
    failed({ kind: 'http', status: 403, message: 'no' }),
    http(403),
    http(403, error('no')),
    network('no'),
    network('reset'),
    custom('no'),
    NO_PART,
    TIMEOUT,
  ]

  test('are the same where kind, code and words are', () => {
    for (const [at, one] of DIFFERENT.entries())
      for (const [beside, other] of DIFFERENT.entries())
        expect(isSameFailure(one, structuredClone(other)), `${at} and ${beside}`).toBe(at === beside)
  })

  test('are not the same where one of them is none', () => {
    for (const failure of DIFFERENT)
      for (const none of [undefined, OK]) {
        expect(isSameFailure(failure, none)).toBe(false)
        expect(isSameFailure(none, failure)).toBe(false)
        expect(isSameFailure(none, none)).toBe(false)
      }
  })
})
