import { describe, expect, test } from 'vitest'
import type { Slot } from '../ledger/slot.js'
import type { LaneState } from '../types/store.js'
import { seedBook } from './seed.js'

const usedAt = (nonce: number): Slot => ({
  state: 'used',
  nonce,
  attempts: [],
  claims: [],
  end: undefined,
  by: { kind: 'noop', hash: '0x1' },
  at: { number: 1, hash: '0x2' },
  settledBefore: false,
  settled: true,
  committing: 0,
})

const handedOut = (nonce: number): Slot => ({ state: 'outside', nonce, attempts: [], origin: 'handedOut' })

const SPAN_MAX = 1_024

function seeded(counts: { readonly latest: number; readonly pending?: number }, state: Partial<LaneState>) {
  const reading = {
    latest: { count: counts.latest },
    pending: counts.pending === undefined ? undefined : { count: counts.pending },
  } as Parameters<typeof seedBook>[0]
  const full = { slots: [], transactions: [], cursor: undefined, arrived: 0, ...state }
  const { book } = seedBook(reading, full, { durable: true, seen: false }, SPAN_MAX)
  return { floor: book.floor, cursor: book.cursor, hole: book.lowestHole() }
}

describe('slots that were pruned while lower ones were kept', () => {
  test('are used: their nonces are not handed out again', () => {
    const slots = [usedAt(2), usedAt(5)]
    expect(seeded({ latest: 6 }, { slots, cursor: 6 })).toEqual({ floor: 6, cursor: 6, hole: undefined })
  })

  test('below an open one are used as well', () => {
    const slots = [handedOut(2), usedAt(5)]
    expect(seeded({ latest: 6 }, { slots, cursor: 6 })).toEqual({ floor: 2, cursor: 6, hole: undefined })
  })

  test('above all kept ones leave the cursor at its place', () => {
    const slots = [handedOut(2)]
    expect(seeded({ latest: 6 }, { slots, cursor: 6 })).toEqual({ floor: 2, cursor: 6, hole: undefined })
  })

  test('a nonce that the chain has not used is a hole, with any slot above it', () => {
    const slots = [usedAt(2), handedOut(5)]
    expect(seeded({ latest: 3 }, { slots, cursor: 6 })).toEqual({ floor: 3, cursor: 6, hole: 3 })
  })

  test('a node behind the records does not bring back nonces that were used below them', () => {
    const slots = [usedAt(1_000), handedOut(1_001)]
    expect(seeded({ latest: 100 }, { slots, cursor: 1_002 })).toEqual({
      floor: 1_001,
      cursor: 1_002,
      hole: undefined,
    })
    expect(seeded({ latest: 998 }, { slots: [usedAt(1_000)], cursor: 1_001 })).toEqual({
      floor: 1_001,
      cursor: 1_001,
      hole: undefined,
    })
  })

  test('a nonce that the chain has used above the cursor was never ours: it is left to evidence', () => {
    expect(seeded({ latest: 8 }, { slots: [handedOut(2)], cursor: 4 })).toMatchObject({ floor: 2, cursor: 4 })
  })
})
