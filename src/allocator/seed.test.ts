import { describe, expect, test } from 'vitest'
import { liveIn, transactionIn } from '../store/contract/samples.js'
import type { LaneState } from '../types/store.js'
import { seedBook } from './seed.js'

const LANE = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: '0xaa' } as const

const SPAN_MAX = 1_024

type Given = { readonly latest: number; readonly pending?: number }

const readingOf = ({ latest, pending }: Given): Parameters<typeof seedBook>[0] => ({
  latest: { count: latest },
  pending: pending === undefined ? undefined : { count: pending },
})

function seeded(counts: Given, state: Partial<LaneState>, durable: boolean, other: Given = counts) {
  return seedBook(
    readingOf(counts),
    { slots: [], transactions: [], cursor: undefined, arrived: 0, ...state },
    { durable, seen: false },
    SPAN_MAX,
    readingOf(other),
  )
}

test('a nonce that the chain has counted is covered, though nobody knows yet by whom it was used', () => {
  const slots = [4, 5, 6].map((nonce) => liveIn(LANE, nonce, `claim ${nonce}`, `${nonce}`))
  const { book } = seeded({ latest: 6 }, { slots, cursor: 7 }, true)
  expect([book.coveredTo, book.floor]).toEqual([6, 4])
  expect(book.uncovered(10).map(({ nonce }) => nonce)).toEqual([6])
})

describe('a store behind the chain', () => {
  const one = [transactionIn(LANE, 'a')]
  test.each([
    ['the chain has used a nonce above its cursor', { latest: 6 }, { cursor: 5 }, true, true],
    ['one is on its way there', { latest: 5, pending: 6 }, { cursor: 5 }, true, true],
    ['something waits in it', { latest: 6 }, { cursor: 5, transactions: one }, true, true],
    [
      'it knows as much as the chain',
      { latest: 5, pending: 5 },
      { cursor: 5, transactions: one },
      true,
      false,
    ],
    ['it knows more', { latest: 3, pending: 4 }, { cursor: 5, transactions: one }, true, false],
    ['it has no records of the lane', { latest: 6 }, { transactions: one }, true, false],
    // Memory cannot be put back to an earlier time: somebody else used the key.
    ['it does not outlive its process', { latest: 6 }, { cursor: 5 }, false, false],
    ['nor does this one, and something waits', { latest: 6 }, { cursor: 5, transactions: one }, false, true],
  ])('%s', (_, counts, state, durable, behind) => {
    expect(seeded(counts, state, durable).storeBehindChain).toBe(behind)
  })

  test('not where this process held it last: nobody can have put it back since', () => {
    const reading = { latest: { count: 6 }, pending: undefined } as unknown as Parameters<typeof seedBook>[0]
    const state = { slots: [], transactions: one, cursor: 5, arrived: 0 }
    expect(seedBook(reading, state, { durable: true, seen: true }, SPAN_MAX).storeBehindChain).toBe(false)
  })

  test.each([
    ['both readings are above its cursor', { latest: 6 }, { latest: 7 }, [true, false]],
    ['one is, and the other is not', { latest: 6, pending: 6 }, { latest: 5, pending: 5 }, [false, true]],
    [
      'one has something on its way there',
      { latest: 5, pending: 6 },
      { latest: 5, pending: 5 },
      [false, true],
    ],
    ['the other one has', { latest: 5, pending: 5 }, { latest: 5, pending: 6 }, [false, true]],
    [
      'the other one says nothing of what is on its way',
      { latest: 5, pending: 6 },
      { latest: 5 },
      [true, false],
    ],
    ['neither is', { latest: 5, pending: 5 }, { latest: 4, pending: 5 }, [false, false]],
  ])('%s', (_, reading, other, [behind, disputed]) => {
    const { storeBehindChain, storeDisputed } = seeded(reading, { cursor: 5 }, true, other)
    expect([storeBehindChain, storeDisputed]).toEqual([behind, disputed])
  })

  test('its cursor goes on above both', () => {
    expect(seeded({ latest: 6, pending: 8 }, { cursor: 5 }, true).book.cursor).toBe(8)
  })
})

test('of two readings the lower count is the floor, with records and without', () => {
  for (const state of [{}, { cursor: 9 }]) {
    for (const [one, other] of [
      [7, 5],
      [5, 7],
    ] as const) {
      const { book } = seeded({ latest: one }, state, true, { latest: other })
      expect([book.floor, book.coveredTo]).toEqual([5, 5])
    }
  }
})

describe('nonces below all records that one reading counts as used, and the other one does not', () => {
  const slots = [liveIn(LANE, 7, 'claim', 'a')]
  test.each([
    ['up to the lowest record', { slots, cursor: 8 }, [4, 7], [[4, 7], 8, undefined]],
    ['up to the higher count', { slots, cursor: 8 }, [4, 6], [[4, 6], 8, 6]],
    ['up to the cursor, where there is no record left', { cursor: 8 }, [4, 9], [[4, 8], 8, undefined]],
  ] as const)('are a hypothesis %s', (_, state, [low, high], [[from, to], cursor, hole]) => {
    for (const [one, other] of [
      [low, high],
      [high, low],
    ] as const) {
      const { book } = seeded({ latest: one }, state as Partial<LaneState>, true, { latest: other })
      for (let nonce = from; nonce < to; nonce++) expect(book.get(nonce)?.state, `${nonce}`).toBe('outside')
      expect([book.cursor, book.lowestHole()]).toEqual([cursor, hole])
    }
  })

  test('both of them lack may have been skipped', () => {
    const { book } = seeded({ latest: 4 }, { slots, cursor: 8 }, true, { latest: 4 })
    expect(book.lowestHole()).toBe(4)
  })
})

test('`pending` far above `latest` is not believed: the lane begins without it, and nothing is made for it', () => {
  for (const pending of [7 + SPAN_MAX + 1, 1_000_000_001]) {
    const { book, isDisbelieved } = seeded({ latest: 7, pending }, {}, true)
    expect([isDisbelieved, book.cursor, book.slots.size]).toEqual([true, 7, 0])
  }
  const { book, isDisbelieved } = seeded({ latest: 7, pending: 7 + SPAN_MAX }, {}, true)
  expect([isDisbelieved, book.cursor, book.slots.size]).toEqual([false, 7 + SPAN_MAX, 0])
})

test('records next to a count that a node made up cost as much as the records alone', () => {
  const slots = [4, 1_000_000_001].map((nonce) => liveIn(LANE, nonce, `claim ${nonce}`, `${nonce}`))
  for (const latest of [5, 1_000_000_001]) {
    const { book } = seeded({ latest }, { slots, cursor: 1_000_000_002 }, true)
    expect([book.floor, book.slots.size]).toEqual([4, 2])
  }
})

describe('counts above the records', () => {
  test('are no floor: that nonces are used is left to evidence, and nothing is handed out there', () => {
    const { book } = seeded({ latest: 8 }, { cursor: 5 }, true)
    expect([book.floor, book.cursor, book.supposedTo, book.slots.size]).toEqual([5, 8, 8, 0])
  })

  test('of more than seedSpanMax are not believed, and nothing is made for them', () => {
    for (const count of [5 + SPAN_MAX + 1, 1_000_000_001]) {
      const { book, isDisbelieved } = seeded({ latest: count, pending: count }, { cursor: 5 }, true)
      expect([isDisbelieved, book.floor, book.cursor, book.unfinished]).toEqual([true, 5, 5, 0])
    }
    expect(seeded({ latest: 5 + SPAN_MAX }, { cursor: 5 }, true).isDisbelieved).toBe(false)
  })

  test('of its own transactions in flight are believed, however many they are', () => {
    const slots = [4, 5_000].map((nonce) => liveIn(LANE, nonce, `claim ${nonce}`, `${nonce}`))
    const { book, isDisbelieved } = seeded({ latest: 4, pending: 5_001 }, { slots, cursor: 5_001 }, true)
    expect([isDisbelieved, book.floor, book.cursor]).toEqual([false, 4, 5_001])
  })
})

describe('a count far below the records', () => {
  const slots = [liveIn(LANE, 700, 'claim', 'a')]

  test('makes no holes: what lies between is a hypothesis', () => {
    for (const pending of [0, 300, 701]) {
      const { book } = seeded({ latest: 0, pending }, { slots, cursor: 701 }, true)
      expect([book.cursor, book.slots.size, book.lowestHole()]).toEqual([701, 1, undefined])
      expect(book.get(0)?.state).toBe('outside')
    }
  })

  test('makes holes of up to 64 nonces that may have been skipped', () => {
    const { book } = seeded({ latest: 636 }, { slots, cursor: 701 }, true)
    expect([book.floor, book.lowestHole(), book.slots.size]).toEqual([636, 636, 65])
    expect(seeded({ latest: 635 }, { slots, cursor: 701 }, true).book.slots.size).toBe(1)
  })
})
