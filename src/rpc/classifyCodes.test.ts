import { describe, expect, test } from 'vitest'
import { classifyReply, classifySendError } from './classify.js'
import type { RpcFailure } from './port.js'

const HASH = `0x${'ab'.repeat(32)}` as const
const rpc = (code: number, message: string, data?: unknown): RpcFailure => ({
  kind: 'rpc',
  code,
  message,
  data,
})

describe('an outcome', () => {
  const refused = (reason: string) => ({ outcome: 'refused', reason, counted: false })

  test.each([
    ['a nonce without numbers', rpc(-32_000, 'nonce too low'), refused('nonceTooLow')],
    ['a fee without numbers', rpc(-32_000, 'transaction underpriced'), refused('feeTooLow')],
    [
      'a replacement without numbers',
      rpc(-32_000, 'replacement transaction underpriced'),
      refused('replacementUnderpriced'),
    ],
    ['a rate limit without a time', rpc(-32_005, 'rate limit exceeded'), refused('rateLimited')],
    ['a gap without a nonce', rpc(6, 'transaction is not ready'), refused('nonceTooHigh')],
  ])('omits the properties that are not known: %s', (_, failure, outcome) => {
    expect(classifySendError(failure)).toStrictEqual(outcome)
  })

  test('for a hash in the reply has no reason', () => {
    expect(classifyReply({ ok: true, result: HASH }, HASH)).toStrictEqual({
      outcome: 'accepted',
      reason: 'unknown',
      counted: false,
    })
  })

  test.each([undefined, null, 7, true])('for the error %j, which has no content, is unknown', (error) => {
    expect(classifySendError(error)).toStrictEqual({ outcome: 'unknown', reason: 'unknown', counted: false })
  })

  test("is unknown if any layer of an error is a port's failure without an answer of the node", () => {
    const failure: RpcFailure = { kind: 'timeout', message: 'nonce too low' }
    expect(classifySendError({ ok: false, failure }).outcome).toBe('unknown')
    expect(classifySendError({ message: 'nonce too low', cause: failure }).outcome).toBe('unknown')
  })
})

describe('the code of an error', () => {
  test('comes from the deepest layer that has one', () => {
    const gap = rpc(6, 'transaction is not ready', 7)
    expect(classifySendError({ code: 4, cause: gap })).toStrictEqual({
      outcome: 'refused',
      reason: 'nonceTooHigh',
      counted: false,
      expectedNonce: 7,
    })
    expect(classifySendError({ code: 6, cause: { message: 'not ready' } }).reason).toBe('nonceTooHigh')
  })

  test('5 leaves the outcome unknown, whatever code a wrapper has', () => {
    const notReady = rpc(5, 'missing nonce', HASH)
    expect(classifySendError({ code: 4, cause: notReady }).outcome).toBe('unknown')
  })

  test.each([undefined, null, '0x', {}])('3 means no revert with the data %j', (data) => {
    expect(classifySendError(rpc(3, 'nonce too low', data)).reason).toBe('nonceTooLow')
  })

  test.each([
    ['NONCE_EXPIRED', 'nonceTooLow'],
    ['REPLACEMENT_UNDERPRICED', 'replacementUnderpriced'],
    ['INSUFFICIENT_FUNDS', 'insufficientFunds'],
  ])("ethers' %s is a refusal if no layer has the node's message", (code, reason) => {
    const refused = { outcome: 'refused', reason, counted: false }
    expect(classifySendError({ code, message: 'words of ethers' })).toStrictEqual(refused)
    expect(classifySendError({ code, message: 'words of ethers', info: {} })).toStrictEqual(refused)
  })
})

describe('a rate limit', () => {
  test('keeps the pause that an inner layer asks for', () => {
    const cause = { status: 429, message: 'Too Many Requests', retryAfterMs: 1_500 }
    expect(classifySendError({ message: 'could not send', cause })).toStrictEqual({
      outcome: 'refused',
      reason: 'rateLimited',
      counted: false,
      retryAfterMs: 1_500,
    })
  })

  test('needs a matching message in one of the texts of a layer', () => {
    const error = { code: -32_005, reason: 'processing response error', message: 'rate limit exceeded' }
    expect(classifySendError(error).reason).toBe('rateLimited')
  })
})

describe('the data of code 6', () => {
  const hint = (data: unknown) => classifySendError(rpc(6, 'transaction is not ready', data))
  const gap = { outcome: 'refused', reason: 'nonceTooHigh', counted: false }

  test.each([
    [0, 0],
    [1_234, 1_234],
    ['0', 0],
    ['1234', 1_234],
    ['0x4d2', 1_234],
    ['0x4D2', 1_234],
    [{ expectedNonce: 1_234 }, 1_234],
    [{ nonce: '1234' }, 1_234],
    [{ expectedNonce: '0x4d2', nonce: 1 }, 1_234],
  ])('%j gives the next nonce', (data, expectedNonce) => {
    expect(hint(data)).toStrictEqual({ ...gap, expectedNonce })
  })

  test.each([
    undefined,
    null,
    true,
    '',
    '0x',
    ' 7',
    '+7',
    '-7',
    '7.0',
    '1e3',
    '0x7 ',
    '99999999999999999999',
    -1,
    1.5,
    2 ** 53,
    ['7'],
    {},
    { expectedNonce: ['7'] },
    { expectedNonce: true },
    { nonce: '' },
  ])('%j gives no nonce', (data) => {
    expect(hint(data)).toStrictEqual(gap)
  })

  test.each([
    [4, 'accepted', 'syncTimeout'],
    [5, 'unknown', 'unknown'],
    [-32_601, 'unknown', 'methodMissing'],
  ])('gives no nonce with the code %i', (code, outcome, reason) => {
    expect(classifySendError(rpc(code, 'words', 7))).toStrictEqual({ outcome, reason, counted: false })
  })
})
