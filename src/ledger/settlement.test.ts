import { describe, expect, test } from 'vitest'
import { a1, b1, byA, byNoop, byOther, hash, noop, on, unproven, usedSlot } from './samples.fixture.js'
import type { Used, UsedBy } from './slot.js'

const unresolved = (over: Partial<Used> = {}) => usedSlot(unproven, { at: undefined, ...over })

describe('the verdict', () => {
  test.each([
    ['void', [{ do: 'emit', event: 'gapFilled' }]],
    ['cancel', []],
    [undefined, []],
  ] as const)(
    'on a no-op of ours with end %s: a gap is reported as filled if the lane gave the nonce up',
    (end, reported) => {
      const slot = usedSlot(byNoop, { claims: [], end, attempts: [noop] })
      expect(on(slot, { type: 'lossDepth' })).toEqual({
        row: 30,
        slot: { ...slot, settled: true },
        actions: reported,
      })
    },
  )

  test('on a use by another transaction ends nothing and requeues nothing if nothing was bound', () => {
    const slot = usedSlot(byOther, { claims: [] })
    expect(on(slot, { type: 'lossDepth' })).toEqual({
      row: 31,
      slot: { ...slot, settled: true },
      actions: [],
    })
  })

  test('on an unknown kind of use throws', () => {
    const unknown = usedSlot({ kind: 'blob' } as unknown as UsedBy)
    expect(() => on(unknown, { type: 'lossDepth' })).toThrow('unknown use {"kind":"blob"}')
  })
})

describe("an operator's word", () => {
  test.each(['executed', 'notExecuted'] as const)(
    'does not apply to a claim that is not bound: %s',
    (fate) => {
      for (const claims of [[], ['a'], ['a', 'b']]) {
        const slot = unresolved({ claims })
        expect(on(slot, { type: 'resolve', claim: 'c', fate })).toEqual({ row: 0, slot, actions: [] })
      }
    },
  )

  test.each([
    ['a', undefined, 'superseded', { claims: ['b'] }],
    ['a', 'cancel', 'superseded', { claims: ['b'] }],
    ['b', undefined, 'tooLate', { claims: ['a'], end: 'void' }],
    ['b', 'cancel', 'cancelled', { claims: ['a'], end: 'void' }],
    ['b', 'void', 'voided', { claims: ['a'], end: 'void' }],
  ] as const)(
    'that %s, replaced by b, did not execute ends it alone: with end %s it is %s',
    (claim, end, as, after) => {
      const slot = unresolved({ claims: ['a', 'b'], attempts: [a1, b1], end })
      expect(on(slot, { type: 'resolve', claim, fate: 'notExecuted' })).toEqual({
        row: 27,
        slot: { ...slot, ...after },
        actions: [{ do: 'end', claim, as }],
      })
    },
  )
})

test('a fact recorded for a used nonce requests nothing', () => {
  const slot = usedSlot(byA, { committing: 1 })
  for (const fact of [
    { type: 'sent', hash: a1.hash },
    { type: 'journaled', token: 1, attempt: b1 },
    { type: 'notCommitted' },
    { type: 'outsideCommitted', attempt: { ...b1, hash: hash('o1') } },
  ] as const) {
    const { row, slot: after, actions } = on(slot, fact)
    expect([row, after.state, actions]).toEqual([0, 'used', []])
    expect(after).not.toBe(slot)
  }
})
