import fc from 'fast-check'
import type { Hash } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  type Body,
  type CountReading,
  type Counts,
  countAfter,
  createSearch,
  type EvidenceQuery,
  endOf,
  judgeBody,
  narrow,
  nextCounts,
  type Search,
  type Use,
} from './evidence.js'

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

const NONCE = 7

/**
 * Runs a search on a chain whose counts pass the nonce at `usedAt`, with states below `servedFrom` refused.
 */
function run(
  { from, high, usedAt, servedFrom }: { from: number; high: number; usedAt: number; servedFrom: number },
  countsMax: number,
): { search: Search; rounds: number } {
  const countAt = (number: number): CountReading => {
    if (number < servedFrom) return 'refused'
    return number >= usedAt ? NONCE + 1 : NONCE
  }
  let search = createSearch(NONCE, from, high)
  for (let rounds = 0; ; rounds++) {
    const asked = nextCounts(search, countsMax)
    if (asked.length === 0) return { search, rounds }
    expect(asked.length).toBeLessThanOrEqual(countsMax)
    expect(asked.every((number) => number >= 0 && number < search.high)).toBe(true)
    const next = narrow(search, asked, asked.map(countAt))
    if (next === undefined) throw new Error('the search found a contradiction in a sound chain')
    search = next
  }
}

describe('the search for the block that used a nonce', () => {
  it('finds the block for any position and belief, or the edge of the state that is served', () => {
    const chains = fc
      .record({ high: fc.nat(5_000), use: fc.nat(), below: fc.nat(), served: fc.nat(), pruned: fc.boolean() })
      .map(({ high, use, below, served, pruned }) => ({
        high,
        usedAt: use % (high + 1),
        from: below % (high + 10),
        servedFrom: pruned ? served % (high + 1) : 0,
      }))
    fc.assert(
      fc.property(chains, fc.integer({ min: 2, max: 16 }), (chain, countsMax) => {
        const { search } = run(chain, countsMax)
        const end = endOf(search, 256)
        const { usedAt, servedFrom } = chain
        const expected =
          usedAt > servedFrom
            ? { kind: 'block', number: usedAt }
            : servedFrom === 0
              ? { kind: 'genesis' }
              : { kind: 'bodies', refused: servedFrom - 1 }
        expect(end).toMatchObject(expected)
      }),
    )
  })

  it('takes few rounds: five for a million blocks, nine if the belief was wrong', () => {
    expect(run({ from: 0, high: 1_000_000, usedAt: 654_321, servedFrom: 0 }, 16).rounds).toBeLessThanOrEqual(
      5,
    )
    const wrong = { from: 999_999, high: 1_000_000, usedAt: 4_321, servedFrom: 0 }
    expect(run(wrong, 16).rounds).toBeLessThanOrEqual(9)
  })

  it('reads the believed block and the neighbours of the use in one round if they are close', () => {
    expect(nextCounts(createSearch(NONCE, 95, 100), 16)).toEqual([95, 96, 97, 98, 99])
  })

  it('goes twice as far down with each step if the belief was wrong, in ascending order', () => {
    const wrong = createSearch(NONCE, 1_000, 1_000)
    const passed = (search: Search, asked: readonly number[]) =>
      narrow(
        search,
        asked,
        asked.map(() => NONCE + 1),
      ) as Search
    const first = nextCounts(wrong, 4)
    expect(first).toEqual([992, 996, 998, 999])
    const second = nextCounts(passed(wrong, first), 4)
    expect(second).toEqual([864, 928, 960, 976])
    // The steps start from one again, because the belief itself turned out to be wrong.
    const believed = createSearch(NONCE, 95, 100)
    expect(nextCounts(passed(believed, nextCounts(believed, 16)), 4)).toEqual([87, 91, 93, 94])
  })

  it('finds a contradiction if a block passes the nonce after a count or a refusal that excluded it', () => {
    const search = createSearch(NONCE, 0, 100)
    expect(narrow({ ...search, low: 10 }, [10], [NONCE + 1])).toBeUndefined()
    expect(narrow({ ...search, refused: 10 }, [10], [NONCE + 1])).toBeUndefined()
  })

  it('finds a contradiction if counts decrease, states come and go, or an answer is missing', () => {
    const search = createSearch(NONCE, 0, 100)
    expect(narrow(search, [10, 20], [NONCE + 1, NONCE])).toBeUndefined()
    expect(narrow(search, [10, 20], [NONCE + 1, 'refused'])).toBeUndefined()
    expect(narrow(search, [10, 20], [NONCE, undefined])).toBeUndefined()
    expect(narrow(search, [10, 20], [NONCE])).toBeUndefined()
  })

  it('lists the bodies upwards from the belief, then downwards, up to the limit each', () => {
    const edge = (from: number) => createSearch(NONCE, from, 100, 99)
    const up = (...numbers: number[]) => ({ passedBy: 'above', numbers })
    const down = (...numbers: number[]) => ({ passedBy: 'below', numbers })
    expect(endOf(edge(97), 3)).toEqual({
      kind: 'bodies',
      refused: 99,
      runs: [up(98, 99, 100), down(97, 96, 95)],
    })
    expect(endOf(edge(10), 3)).toMatchObject({ runs: [up(11, 12, 13), down(10, 9, 8)] })
    expect(endOf(edge(100), 3)).toMatchObject({ runs: [down(100, 99, 98)] })
    expect(endOf(createSearch(NONCE, 9, 1, 0), 256)).toMatchObject({ runs: [down(1, 0)] })
  })

  it('names no body below a count that was read', () => {
    expect(endOf({ ...createSearch(NONCE, 10, 100, 99), low: 97 }, 256)).toMatchObject({
      runs: [{ passedBy: 'above', numbers: [98, 99, 100] }],
    })
  })
})
