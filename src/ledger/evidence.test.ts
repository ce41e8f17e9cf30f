import type { Hash } from 'viem'
import { describe, expect, it } from 'vitest'
import { type Body, type Counts, countAfter, type EvidenceQuery, judgeBody, type Use } from './evidence.js'

const h = (digit: string): Hash => `0x${digit.repeat(64)}`
const [BLOCK, PARENT, OWN, OWN_NEXT, FIRST, SECOND, CARRIER] = ['1', '2', 'a', 'b', '3', '4', '5'].map(h) as [
  Hash,
  Hash,
  Hash,
  Hash,
  Hash,
  Hash,
  Hash,
]

const sent = (nonce: number, hash: Hash): Use => ({ kind: 'transaction', nonce, hash })
const tuple = (nonce: number, hash = CARRIER): Use => ({ kind: 'authorization', nonce, hash })
const deposit = (hash: Hash, nonce?: number): Use => ({ kind: 'deposit', nonce, hash })

function body(...uses: readonly Use[]): Body {
  return { number: 10, hash: BLOCK, parentHash: PARENT, hashes: uses.map(({ hash }) => hash), uses }
}

const own: EvidenceQuery['own'] = (nonce) => new Set(nonce === 5 ? [OWN] : nonce === 6 ? [OWN_NEXT] : [])
const query: EvidenceQuery = { nonce: 5, own }
const CROSSES: Counts = { before: 5, after: 6 }
const UNKNOWN: Counts = { before: undefined, after: undefined }

describe('a witness in a body', () => {
  it('is a transaction of the account with the nonce, for any counts', () => {
    for (const counts of [
      CROSSES,
      UNKNOWN,
      { before: 0, after: 99 },
      { before: 'refused', after: 3 } as const,
    ]) {
      expect(judgeBody(query, body(sent(5, FIRST)), counts)).toEqual({
        kind: 'other',
        witnesses: [{ nonce: 5, hash: FIRST }],
        isProof: true,
      })
    }
  })

  it('covers the nonces above in the same body, up to one of our own', () => {
    const witnesses = (...uses: readonly Use[]) => judgeBody({ ...query, nonce: 4 }, body(...uses), UNKNOWN)
    expect(witnesses(sent(4, FIRST), sent(5, SECOND))).toMatchObject({
      witnesses: [
        { nonce: 4, hash: FIRST },
        { nonce: 5, hash: SECOND },
      ],
    })
    expect(witnesses(sent(4, FIRST), sent(5, OWN))).toMatchObject({ witnesses: [{ nonce: 4, hash: FIRST }] })
  })

  it('is our own attempt, at any place in the list', () => {
    expect(judgeBody(query, body(sent(4, FIRST), sent(5, OWN)), UNKNOWN)).toEqual({ kind: 'own', hash: OWN })
  })

  it('is a tuple only together with counts that pass the nonce: an invalid tuple uses nothing', () => {
    const other = { kind: 'other', witnesses: [{ nonce: 5, hash: CARRIER }], isProof: false }
    expect(judgeBody(query, body(tuple(5)), CROSSES)).toEqual(other)
    for (const counts of [
      UNKNOWN,
      { before: 5, after: 5 },
      { before: 6, after: 7 },
      { before: 'refused', after: 6 } as const,
    ])
      expect(judgeBody(query, body(tuple(5)), counts)).toEqual({ kind: 'nothing' })
    expect(judgeBody(query, body(tuple(4)), CROSSES)).toEqual({ kind: 'nothing' })
  })

  it('is a tuple that follows a transaction of the account in the body, which fixes the count', () => {
    expect(judgeBody(query, body(sent(4, FIRST), tuple(5)), UNKNOWN)).toMatchObject({
      kind: 'other',
      witnesses: [{ nonce: 5, hash: CARRIER }],
    })
    // Not valid: the account's count is 5 when the chain reaches the tuple.
    expect(judgeBody(query, body(sent(4, FIRST), tuple(7)), UNKNOWN)).toMatchObject({
      kind: 'later',
      count: 5,
    })
  })

  it('is a deposit whose nonce is in the receipt, or follows from the counts', () => {
    expect(judgeBody(query, body(deposit(FIRST, 5)), UNKNOWN)).toMatchObject({
      kind: 'other',
      isProof: false,
    })
    expect(judgeBody(query, body(deposit(FIRST)), CROSSES)).toMatchObject({ kind: 'other', isProof: false })
    expect(judgeBody(query, body(deposit(FIRST)), UNKNOWN)).toEqual({ kind: 'nothing' })
  })

  it('is the tuple of our own transaction if that is in this block and the counts pass the nonce', () => {
    const carried = { ...query, carriedIn: { number: 10, hash: BLOCK } }
    expect(judgeBody(carried, body(), CROSSES)).toEqual({ kind: 'authorized' })
    expect(judgeBody(carried, body(), UNKNOWN)).toEqual({ kind: 'nothing' })
    const elsewhere = { ...query, carriedIn: { number: 10, hash: PARENT } }
    expect(judgeBody(elsewhere, body(), CROSSES)).toEqual({ kind: 'nothing' })
  })

  it.each<[Counts['before'], Counts['after'], 'authorized' | 'nothing']>([
    [5, 6, 'authorized'],
    [4, 7, 'authorized'],
    [5, 5, 'nothing'],
    [6, 7, 'nothing'],
    [undefined, 6, 'nothing'],
    ['refused', 6, 'nothing'],
    [5, undefined, 'nothing'],
    [5, 'refused', 'nothing'],
  ])(
    'is that tuple only if both counts were read and pass the nonce: %s before, %s after',
    (before, after, kind) => {
      const carried = { ...query, carriedIn: { number: 10, hash: BLOCK } }
      expect(judgeBody(carried, body(), { before, after })).toEqual({ kind })
    },
  )
})

describe('a body without a witness', () => {
  it('never proves a use by another sender, for any counts', () => {
    for (const before of [0, 5, 6, 'refused', undefined] as const) {
      for (const after of [0, 5, 6, 100, 'refused', undefined] as const) {
        for (const content of [[], [sent(9, FIRST)], [sent(2, FIRST)]] as const)
          expect(judgeBody(query, body(...content), { before, after }).kind).not.toMatch(/own|other/)
      }
    }
  })

  it('shows the count of the account', () => {
    expect(judgeBody(query, body(sent(7, FIRST)), UNKNOWN)).toEqual({ kind: 'earlier' })
    expect(judgeBody(query, body(sent(3, FIRST)), UNKNOWN)).toEqual({ kind: 'later', count: 4 })
    expect(judgeBody(query, body(sent(3, FIRST), deposit(SECOND)), UNKNOWN)).toEqual({
      kind: 'later',
      count: 5,
    })
    expect(judgeBody(query, body(), CROSSES)).toEqual({ kind: 'nothing' })
  })

  it('proves nothing about a nonce that it skips, since no chain has such a body', () => {
    expect(judgeBody(query, body(sent(3, FIRST), sent(9, SECOND)), UNKNOWN)).toEqual({ kind: 'nothing' })
  })
})

describe('countAfter', () => {
  it('follows transactions, valid tuples and deposits', () => {
    expect(countAfter(body(), 5)).toBe(5)
    expect(countAfter(body(sent(5, FIRST), tuple(6), tuple(9), deposit(SECOND)), 5)).toBe(8)
    expect(countAfter(body(sent(5, FIRST)), undefined)).toBe(6)
    expect(countAfter(body(tuple(5)), undefined)).toBeUndefined()
    expect(countAfter(body(deposit(SECOND)), undefined)).toBeUndefined()
    expect(countAfter(body(deposit(SECOND), sent(5, FIRST)), undefined)).toBe(6)
  })
})
