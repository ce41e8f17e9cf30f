import { describe, expect, it } from 'vitest'
import type { SendOutcome, SendReason } from '../rpc/outcome.js'
import { answerOf, type SendAnswer } from './answer.js'

const refused = (reason: SendReason, more: Partial<SendOutcome> = {}): SendOutcome => ({
  outcome: 'refused',
  reason,
  counted: false,
  ...more,
})

describe('what an answer means for delivery', () => {
  it.each<[SendReason, SendAnswer['kind']]>([
    ['nonceTooLow', 'occupied'],
    ['replacementUnderpriced', 'occupied'],
    ['poolFull', 'full'],
    ['delegatedLimit', 'full'],
    ['rateLimited', 'limited'],
    ['notReady', 'later'],
    ['insufficientFunds', 'later'],
    ['feeTooLow', 'refused'],
    ['gasLimit', 'refused'],
    ['feeCapExceeded', 'refused'],
    ['screened', 'refused'],
    ['wrongChain', 'refused'],
    ['methodMissing', 'refused'],
    ['unknown', 'refused'],
  ])('a refusal for %s is %s', (reason, kind) => {
    expect(answerOf(refused(reason)).kind).toBe(kind)
  })

  it('tells bytes that the pool had before from those that it takes now', () => {
    expect(answerOf({ outcome: 'accepted', reason: 'alreadyKnown', counted: false })).toEqual({
      kind: 'taken',
      isKnown: true,
    })
    expect(answerOf({ outcome: 'accepted', reason: 'unknown', counted: false })).toEqual({ kind: 'taken' })
  })

  it('takes any acceptance as taken, and bytes that no node includes as refused', () => {
    expect(answerOf({ outcome: 'accepted', reason: 'alreadyKnown', counted: false }).kind).toBe('taken')
    expect(answerOf({ outcome: 'accepted', reason: 'syncTimeout', counted: false }).kind).toBe('taken')
    expect(answerOf({ outcome: 'intrinsic', reason: 'invalid', counted: false }).kind).toBe('refused')
  })

  it('takes bytes that no node includes as refused, whatever the reason', () => {
    for (const reason of ['nonceTooLow', 'insufficientFunds'] as const)
      expect(answerOf({ outcome: 'intrinsic', reason, counted: false })).toEqual({ kind: 'refused' })
  })

  it('takes what is not understood as no answer, whether or not a rate limit is behind it', () => {
    expect(answerOf({ outcome: 'unknown', reason: 'unknown', counted: false }).kind).toBe('unanswered')
    expect(answerOf({ outcome: 'unknown', reason: 'rateLimited', counted: false }).kind).toBe('limited')
  })

  it('passes on which nonce the endpoint expects, and how far above it goes', () => {
    const answer = answerOf(refused('nonceTooHigh', { expectedNonce: 4, nonceMax: 24 }))
    expect(answer).toEqual({ kind: 'gapped', expected: 4, nonceMax: 24 })
  })
})
