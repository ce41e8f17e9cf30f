import { describe, expect, test } from 'vitest'
import { a1, attempt, block, byA, liveSlot, reserved, usedSlot } from './samples.fixture.js'
import type { Slot } from './slot.js'
import { attemptWith, slotWith } from './slotWith.js'
import { transition } from './transition.js'

/** As the table first creates them. */
const made = (): readonly Slot[] => [
  transition(7, undefined, { type: 'reserve', claim: 'a', token: 1 }).slot,
  transition(7, reserved({ committing: 1 }), { type: 'journaled', token: 1, attempt: a1 }).slot,
  transition(7, liveSlot({ attempts: [a1] }), { type: 'sealed', hash: a1.hash, block: block(5) }).slot,
]

describe('slotWith', () => {
  test('keeps everything else, in the one field order of its state', () => {
    expect(made().map(({ state }) => state)).toEqual(['reserved', 'live', 'used'])
    for (const slot of made()) {
      const copy = slotWith(slot as Parameters<typeof slotWith>[0], {})
      expect(copy).not.toBe(slot)
      expect(copy).toStrictEqual(slot)
      expect(Object.keys(copy)).toEqual(Object.keys(slot))
    }
  })

  test('keeps earlier changes', () => {
    const preconfirmed = { hash: a1.hash, blockNumber: 5 }
    const since = { end: 'void', settledBefore: true, committing: 1 } as const
    const counted = {
      displaced: true,
      refusals: 2,
      replacementRejections: 1,
      resentSinceSigned: true,
      token: 3,
      preconfirmed,
    }
    for (const slot of [
      reserved({ committing: 1, token: 3, attempts: [a1] }),
      liveSlot({ ...since, ...counted }),
      usedSlot(byA, { ...since, settled: true }),
    ])
      expect(slotWith(slot as Parameters<typeof slotWith>[0], {})).toStrictEqual(slot)
  })

  test('changes a copy', () => {
    const slot = liveSlot({ end: 'cancel' })
    expect(slotWith(slot, { end: undefined, refusals: 2 })).toStrictEqual(
      liveSlot({ end: undefined, refusals: 2 }),
    )
    expect(slot.end).toBe('cancel')
  })
})

test('attemptWith keeps the private flag and the block it was made at, and adds neither if there is none', () => {
  const madeAt = { number: 7, hash: a1.hash }
  const all = [a1, attempt('a', 'a3', { private: true }), attempt('a', 'a4', { madeAt })]
  for (const one of [...all, attempt('a', 'a5', { private: true, madeAt })]) {
    expect(attemptWith(one, {})).toStrictEqual(one)
    expect(attemptWith(one, { sends: 5 })).toStrictEqual({ ...one, sends: 5 })
  }
})
