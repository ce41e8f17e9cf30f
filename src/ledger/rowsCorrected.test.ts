import { describe, expect, test } from 'vitest'
import {
  a1,
  a2,
  b1,
  block,
  byA,
  byNoop,
  byOther,
  hash,
  noop,
  on,
  unproven,
  usedSlot,
} from './samples.fixture.js'
import type { Attempt, Live, Used } from './slot.js'

const left = { type: 'left', block: block(10), token: 6 } as const
const unresolved = (over: Partial<Used> = {}) => usedSlot(unproven, { at: undefined, ...over })

describe('rows of used nonces that correct earlier conclusions', () => {
  test('row 24: one of our attempts in a walked block corrects earlier beliefs, even after the verdict', () => {
    const sealed = { type: 'sealed', hash: a1.hash, block: block(12), walked: true } as const
    expect(on(usedSlot(byOther), sealed)).toMatchObject({
      row: 24,
      slot: { by: byA, at: block(12), settled: false },
      actions: [{ do: 'emit', event: 'corrected' }],
    })
    expect(on(usedSlot(byOther, { settled: true }), sealed)).toMatchObject({
      row: 24,
      slot: { by: byA, at: block(12), settled: false },
      actions: [
        { do: 'emit', event: 'corrected' },
        { do: 'reclaim', claim: 'a' },
      ],
    })
    expect(on(usedSlot(byA), sealed).row).toBe(0)
    // A block that is not walked may have left the chain, and a foreign transaction corrects nothing.
    expect(on(usedSlot(byOther), { ...sealed, walked: undefined }).row).toBe(0)
    expect(on(usedSlot(byOther), { ...sealed, hash: hash('stranger') }).row).toBe(0)
  })

  test('row 24 after the verdict: an ended claim stays ended, and no second verdict is given', () => {
    const settled = { settled: true, attempts: [a1, noop], claims: ['a'] } as const
    const walked = (known: Attempt) =>
      ({ type: 'sealed', hash: known.hash, block: block(12), walked: true }) as const
    for (const [slot, known, by] of [
      [usedSlot(byOther, { ...settled, end: 'cancel' }), a1, byA],
      [usedSlot(byOther, settled), noop, byNoop],
      [usedSlot({ kind: 'claim', claim: 'b', hash: undefined }, { ...settled, at: undefined }), a1, byA],
    ] as const) {
      const taken = on(slot, walked(known))
      expect(taken).toEqual({
        row: 24,
        slot: { ...slot, by, at: block(12) },
        actions: [{ do: 'emit', event: 'corrected' }],
      })
      expect(on(taken.slot, { type: 'lossDepth' }).row).toBe(0)
    }
  })

  test('row 24 after the verdict: if the replaced transaction executed, its replacement is bound nowhere else', () => {
    const slot = usedSlot(byOther, { settled: true, attempts: [a1, b1], claims: ['a', 'b'] })
    const taken = on(slot, { type: 'sealed', hash: a1.hash, block: block(12), walked: true })
    expect(taken).toMatchObject({
      row: 24,
      slot: { by: byA, settled: false },
      actions: [
        { do: 'emit', event: 'corrected' },
        { do: 'reclaim', claim: 'b' },
      ],
    })
    expect(on(taken.slot, { type: 'lossDepth' }).actions).toEqual([
      { do: 'landed', claim: 'a', hash: a1.hash },
      { do: 'end', claim: 'b', as: 'tooLate' },
    ])
  })

  test("row 24: a block that confirms an operator's word is recorded without an event", () => {
    const said = on(unresolved(), { type: 'resolve', claim: 'a', fate: 'executed' }).slot
    const taken = on(said, { type: 'sealed', hash: a1.hash, block: block(12), walked: true })
    expect(taken).toEqual({ row: 24, slot: { ...said, by: byA, at: block(12) }, actions: [] })
  })

  test("row 27: an unused nonce that was settled by an operator's word is voided, or its claim is resent", () => {
    const said = (fate: 'executed' | 'notExecuted') =>
      on(unresolved(), { type: 'resolve', claim: 'a', fate }).slot
    const refuted = { type: 'refuted', token: 6 } as const
    expect(on(said('notExecuted'), refuted)).toMatchObject({
      row: 27,
      slot: { state: 'live', claims: [], end: 'void', attempts: [a1] },
      actions: [
        { do: 'emit', event: 'corrected' },
        { do: 'noop', token: 6 },
      ],
    })
    expect(on(said('executed'), refuted)).toMatchObject({
      row: 27,
      slot: { state: 'live', claims: ['a'], end: undefined, settledBefore: true },
      actions: [
        { do: 'emit', event: 'corrected' },
        { do: 'resend', hash: a1.hash },
      ],
    })
    expect(on(usedSlot(byOther, { settled: true }), refuted).row).toBe(0)
    // An operator's word does not identify the attempt: the newest one is sent.
    const several = on(unresolved({ attempts: [a1, a2] }), { type: 'resolve', claim: 'a', fate: 'executed' })
    expect(on(several.slot, refuted).actions[1]).toEqual({ do: 'resend', hash: a2.hash })
  })

  test.each([
    ['it', byA, { kind: 'other', hash: a1.hash }],
    ['something else', byOther, byOther],
    ['an unknown transaction', unproven, unproven],
  ] as const)(
    'row 35: a nonce that %s used does not pass on a claim that executed elsewhere',
    (_, by, then) => {
      const elsewhere = { type: 'executedElsewhere', claim: 'a', token: 6 } as const
      const slot = usedSlot(by, { claims: ['a', 'b'] })
      const taken = on(slot, elsewhere)
      expect(taken).toEqual({
        row: 35,
        slot: { ...slot, by: then, claims: ['b'], end: 'void', settledBefore: true },
        actions: [],
      })
      expect(on(taken.slot, elsewhere).row).toBe(0)
      expect(on(usedSlot(by, { settled: true }), elsewhere).row).toBe(0)
      const replacement = on(slot, { ...elsewhere, claim: 'b' }).slot
      expect(replacement).toMatchObject({ by, claims: ['a'] })
    },
  )

  test('rows 24 and 27: a claim that lands after its verdict was taken back is bound nowhere else', () => {
    const attempts = [a1, b1, noop]
    const free = on(usedSlot(byOther, { settled: true, attempts, claims: ['b'] }), left).slot as Live
    const sealed = { type: 'sealed', hash: b1.hash, block: block(12), walked: true } as const
    const byB = { kind: 'claim', claim: 'b', hash: b1.hash }
    const ends = [
      { do: 'reclaim', claim: 'a' },
      { do: 'reclaim', claim: 'b' },
    ]
    const reported = { do: 'emit', event: 'corrected' }
    const seen = { state: 'used', claims: ['a', 'b'], end: 'void', by: byB, settled: false }
    expect(on(free, sealed)).toMatchObject({ row: 24, slot: seen, actions: [reported, ...ends] })
    const passed = on(free, { type: 'passed' }).slot
    expect(on(passed, sealed)).toMatchObject({ row: 27, slot: seen, actions: ends })
    const foreign = on(free, { type: 'evidence', block: block(11), hash: hash('f') }).slot
    expect(on(foreign, sealed)).toMatchObject({ row: 24, slot: seen, actions: [reported, ...ends] })
    const after = on(foreign, { type: 'lossDepth' }).slot
    expect(on(after, sealed)).toMatchObject({ row: 24, slot: seen, actions: [reported, ...ends] })
    // Our no-op does not affect claims that are bound elsewhere.
    expect(on(free, { ...sealed, hash: noop.hash })).toMatchObject({
      slot: { claims: [], by: byNoop },
      actions: [{ do: 'emit', event: 'sealed' }],
    })
  })
})
