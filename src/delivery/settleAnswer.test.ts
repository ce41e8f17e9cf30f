import { describe, expect, it } from 'vitest'
import type { SendOutcome, SendReason } from '../rpc/outcome.js'
import { byHand, SEQUENCER } from './byHand.fixture.js'
import { answerOf, type SendAnswer } from './settle.js'

const refused = (reason: SendReason, more: Partial<SendOutcome> = {}): SendOutcome => ({
  outcome: 'refused',
  reason,
  counted: false,
  ...more,
})

describe('the meaning of an answer for delivery', () => {
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

  it('distinguishes bytes that the pool had before from bytes that it accepts now', () => {
    expect(answerOf({ outcome: 'accepted', reason: 'alreadyKnown', counted: false })).toEqual({
      kind: 'taken',
      isKnown: true,
    })
    expect(answerOf({ outcome: 'accepted', reason: 'unknown', counted: false })).toEqual({ kind: 'taken' })
  })

  it('treats any acceptance as taken, and bytes that no node includes as refused', () => {
    expect(answerOf({ outcome: 'accepted', reason: 'alreadyKnown', counted: false }).kind).toBe('taken')
    expect(answerOf({ outcome: 'accepted', reason: 'syncTimeout', counted: false }).kind).toBe('taken')
    expect(answerOf({ outcome: 'intrinsic', reason: 'invalid', counted: false }).kind).toBe('refused')
  })

  it('treats bytes that no node includes as refused, for any reason', () => {
    for (const reason of ['nonceTooLow', 'insufficientFunds'] as const)
      expect(answerOf({ outcome: 'intrinsic', reason, counted: false })).toEqual({ kind: 'refused' })
  })

  it('treats an unknown message as no answer, whether or not a rate limit causes it', () => {
    expect(answerOf({ outcome: 'unknown', reason: 'unknown', counted: false }).kind).toBe('unanswered')
    expect(answerOf({ outcome: 'unknown', reason: 'rateLimited', counted: false }).kind).toBe('limited')
  })

  it('passes on the nonce that the endpoint expects, and its maximum distance', () => {
    const answer = answerOf(refused('nonceTooHigh', { expectedNonce: 4, nonceMax: 24 }))
    expect(answer).toEqual({ kind: 'gapped', expected: 4, nonceMax: 24 })
  })
})

const TAKEN: SendAnswer = { kind: 'taken' }

describe('the range of nonces that an endpoint accepts', () => {
  it.each([
    ['starts at the nonce that the endpoint expects', 10, 12, 3],
    ['may be that nonce alone', 10, 10, 1],
    ['bounds nothing if its end lies below that nonce', 13, 12, 4_000],
  ])('%s', (_, expected, nonceMax, pool) => {
    const lane = byHand(SEQUENCER, { floor: 10 })
    lane.offer(10, 14)
    const answers: SendAnswer[] = [TAKEN, TAKEN, TAKEN, { kind: 'gapped', expected, nonceMax }]
    lane.end(lane.sends().request, { end: 'answers', answers })
    expect(lane.delivery.status.pool).toBe(pool)
  })
})
