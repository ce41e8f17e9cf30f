import { describe, expect, test } from 'vitest'
import {
  a1,
  attempt,
  b1,
  block,
  byNoop,
  hash,
  liveSlot,
  noop,
  on,
  reserved,
  stuck,
} from './samples.fixture.js'
import type { Slot } from './slot.js'

const hole: Slot = { state: 'hole', nonce: 7, attempts: [] }
const freed: Slot = { ...hole, attempts: [attempt('x', 'x1')] }
const handedOut: Slot = { state: 'outside', nonce: 7, attempts: [], origin: 'handedOut' }
const seeded: Slot = { state: 'outside', nonce: 7, attempts: [], origin: 'seeded' }
const evidence = { type: 'evidence', block: block(12), hash: hash('f') } as const
const gap = { type: 'gapTimer', boundAbove: true, waiting: false, token: 2 } as const

describe('rows of new nonces, holes, reservations and nonces outside', () => {
  test('row 1: a new nonce or a hole is reserved, its transaction is to be signed, and attempts stay', () => {
    const command = { type: 'reserve', claim: 'a', token: 4 } as const
    expect(on(undefined, command)).toEqual({
      row: 1,
      slot: reserved({ token: 4 }),
      actions: [{ do: 'sign', claim: 'a', token: 4 }],
    })
    expect(on(freed, command).slot).toEqual(reserved({ token: 4, attempts: freed.attempts }))
  })

  test('row 2: a gap that no queued transaction can take is voided by a no-op', () => {
    const taken = on(hole, gap)
    expect(taken).toMatchObject({ row: 2, actions: [{ do: 'noop', token: 2 }] })
    expect(taken.slot).toMatchObject({ state: 'live', end: 'void', claims: [], token: 2 })
    expect(on(hole, { ...gap, waiting: true })).toEqual({ row: 0, slot: hole, actions: [] })
  })

  test('row 3: a hole with no bound nonce above stays as it is, with its attempts', () => {
    expect(on(freed, { ...gap, boundAbove: false })).toEqual({ row: 3, slot: freed, actions: [] })
  })

  test('row 4: bytes with a current token are committed, then broadcast', () => {
    const committing = on(reserved(), { type: 'committing', token: 1, claim: 'a' })
    expect(committing).toEqual({ row: 4, slot: reserved({ committing: 1 }), actions: [] })
    expect(on(committing.slot, { type: 'journaled', token: 1, attempt: a1 })).toEqual({
      row: 4,
      slot: liveSlot(),
      actions: [{ do: 'broadcast', hash: a1.hash }],
    })
  })

  test('row 4: bytes with a stale token are discarded', () => {
    expect(on(reserved({ token: 2 }), { type: 'committing', token: 1, claim: 'a' }).row).toBe(0)
    expect(on(reserved({ token: 2 }), { type: 'journaled', token: 1, attempt: a1 }).row).toBe(0)
  })

  test('row 4: unwanted bytes on a live nonce are kept, but not broadcast', () => {
    const cancelled = liveSlot({ end: 'cancel', committing: 1 })
    const kept = on(cancelled, { type: 'journaled', token: 1, attempt: b1 })
    expect(kept).toEqual({ row: 4, slot: { ...cancelled, committing: 0, attempts: [b1, a1] }, actions: [] })
    expect(on(cancelled, { type: 'journaled', token: 1, attempt: noop }).actions).toEqual([
      { do: 'broadcast', hash: noop.hash },
    ])
    expect(on(cancelled, { type: 'committing', token: 1, claim: 'a' }).row).toBe(0)
  })

  test('row 5: while the result of a commit is unknown the nonce stays as it is, and the store is read again', () => {
    for (const slot of [reserved({ committing: 1 }), liveSlot({ committing: 1 })]) {
      const unknown = on(slot, { type: 'commitUnknown', token: 1 })
      expect(unknown).toEqual({ row: 5, slot, actions: [{ do: 'readAgain' }] })
      expect(on(slot, { type: 'notCommitted' }).slot).toEqual({ ...slot, committing: 0 })
    }
  })

  test('row 6: a reservation is withdrawn while none of its bytes is journaled or being committed', () => {
    expect(on(reserved(), { type: 'withdraw', claim: 'a', why: 'again' })).toEqual({
      row: 6,
      slot: hole,
      actions: [{ do: 'queueAgain', claim: 'a' }],
    })
    expect(on(reserved(), { type: 'withdraw', claim: 'a', why: 'failed' }).actions).toEqual([
      { do: 'end', claim: 'a', as: 'withdrawn' },
    ])
    expect(on(reserved({ committing: 1 }), { type: 'withdraw', claim: 'a', why: 'failed' }).row).toBe(0)
    expect(on(reserved(), { type: 'withdraw', claim: 'b', why: 'failed' }).row).toBe(0)
  })

  test('row 6: an unsignable replacement is withdrawn, and never queued at another nonce', () => {
    const replaced = liveSlot({ claims: ['a', 'b'] })
    expect(on(replaced, { type: 'withdraw', claim: 'b', why: 'failed' })).toEqual({
      row: 6,
      slot: liveSlot(),
      actions: [{ do: 'end', claim: 'b', as: 'withdrawn' }],
    })
    for (const slot of [
      liveSlot({ claims: ['a', 'b'], committing: 1 }),
      liveSlot({ claims: ['a', 'b'], attempts: [a1, b1] }),
      liveSlot({ claims: ['a', 'b'], end: 'cancel' }),
    ]) {
      expect(on(slot, { type: 'withdraw', claim: 'b', why: 'failed' }).row).toBe(0)
    }
    expect(on(replaced, { type: 'withdraw', claim: 'b', why: 'again' }).row).toBe(0)
    expect(on(liveSlot(), { type: 'withdraw', claim: 'a', why: 'again' }).row).toBe(0)
  })

  test('row 7: if the nonce is used before anything was journaled, the transaction is queued again at once', () => {
    const taken = on(reserved(), evidence)
    expect(taken).toMatchObject({ row: 7, slot: { state: 'used', claims: [], by: { kind: 'other' } } })
    expect(taken.actions).toEqual([
      { do: 'emit', event: 'foreign' },
      { do: 'queueAgain', claim: 'a' },
    ])
    const tuple = on(reserved(), { ...evidence, authorized: true })
    expect(tuple).toMatchObject({ row: 7, actions: [{ do: 'queueAgain', claim: 'a' }] })
    const own = on(reserved({ attempts: [noop] }), { type: 'sealed', hash: noop.hash, block: block(12) })
    expect(own).toMatchObject({ row: 7, slot: { by: byNoop } })
  })

  test('row 7: with a commit under way no conclusion is drawn, since its bytes may still be journaled (P4)', () => {
    const slot = reserved({ committing: 1 })
    expect(on(slot, evidence)).toEqual({ row: 0, slot, actions: [] })
  })

  test('row 21, reserved: a cancel during a commit takes effect, whether or not the commit succeeds', () => {
    const taken = on(reserved({ committing: 1 }), { type: 'cancel', token: 5 })
    expect(taken.row).toBe(21)
    expect(taken.slot).toEqual(liveSlot({ attempts: [], end: 'cancel', token: 5, committing: 1 }))
    expect(taken.actions).toEqual([{ do: 'noop', token: 5 }])
    const late = on(taken.slot, { type: 'journaled', token: 1, attempt: a1 })
    expect(late).toMatchObject({ slot: { attempts: [a1], committing: 0, end: 'cancel' }, actions: [] })
    expect(on(reserved(), { type: 'cancel', token: 5 }).row).toBe(0)
  })

  test('row 8: a nonce that is handed out, or counted by pending, is outside', () => {
    expect(on(undefined, { type: 'handOut' })).toEqual({ row: 8, slot: handedOut, actions: [] })
    expect(on(hole, { type: 'seeded' })).toEqual({ row: 8, slot: seeded, actions: [] })
  })

  test('row 9: bytes of an outside nonce are watched as soon as they are known', () => {
    const outside = attempt('o', 'o1')
    const committed = on(handedOut, { type: 'outsideCommitted', attempt: outside })
    expect(committed).toMatchObject({
      row: 9,
      slot: { state: 'live', claims: ['o'], end: undefined },
      actions: [],
    })
    const voided = liveSlot({ claims: [], end: 'void', attempts: [noop] })
    expect(on(voided, { type: 'outsideCommitted', attempt: outside }).slot).toEqual({
      ...voided,
      claims: ['o'],
      attempts: [outside, noop],
    })
    const foreign = on(handedOut, { type: 'evidence', block: block(12), hash: outside.hash }).slot
    expect(on(foreign, { type: 'outsideCommitted', attempt: outside }).slot).toMatchObject({
      by: { kind: 'claim', claim: 'o' },
      claims: ['o'],
    })
  })

  test('row 9: bytes that arrive after an unread use of their nonce are looked for again', () => {
    const outside = attempt('o', 'o1')
    const foreign = on(handedOut, { type: 'evidence', block: block(12), hash: undefined }).slot
    const taken = on(foreign, { type: 'outsideCommitted', attempt: outside })
    expect(taken).toMatchObject({
      row: 9,
      slot: { state: 'live', claims: ['o'], attempts: [outside], end: undefined },
      actions: [{ do: 'findEvidence' }],
    })
    const found = on(taken.slot, { type: 'sealed', hash: outside.hash, block: block(12) })
    expect(found.slot).toMatchObject({ by: { kind: 'claim', claim: 'o' }, at: block(12) })
    const settled = on(foreign, { type: 'lossDepth' }).slot
    expect(on(settled, { type: 'outsideCommitted', attempt: outside })).toMatchObject({
      row: 0,
      slot: { state: 'used', settled: true, attempts: [outside] },
    })
  })

  test('row 10: a released outside nonce is a hole', () => {
    expect(on(handedOut, { type: 'released' })).toEqual({ row: 10, slot: hole, actions: [] })
  })

  test('row 11: a nonce that was handed out without a report is voided, or reported as a gap without a signer', () => {
    expect(on(handedOut, { type: 'ttl', signer: true, token: 3 })).toMatchObject({
      row: 11,
      slot: { state: 'live', end: 'void', token: 3 },
      actions: [{ do: 'noop', token: 3 }],
    })
    expect(on(handedOut, { type: 'ttl', signer: false, token: 3 })).toEqual({
      row: 11,
      slot: handedOut,
      actions: [{ do: 'emit', event: 'gap' }],
    })
    expect(on(seeded, { type: 'ttl', signer: true, token: 3 }).row).toBe(0)
  })

  test('row 12: a seeded nonce that is stuck at the head is voided', () => {
    expect(on(seeded, stuck())).toMatchObject({
      row: 12,
      slot: { state: 'live', end: 'void', token: 9 },
      actions: [{ do: 'noop', token: 9 }],
    })
    expect(on(seeded, stuck({ head: false })).row).toBe(0)
    expect(on(handedOut, stuck()).row).toBe(0)
  })

  test('rows 24 and 25 apply to holes and outside nonces as to live ones, row 26 only if a nonce may be bound', () => {
    for (const slot of [undefined, hole, handedOut, seeded]) {
      expect(on(slot, evidence)).toMatchObject({
        row: 25,
        slot: { state: 'used', claims: [], by: { kind: 'other' } },
      })
    }
    for (const slot of [handedOut, seeded]) {
      expect(on(slot, { type: 'passed' })).toMatchObject({
        row: 26,
        slot: { state: 'used', by: { kind: 'unproven' } },
        actions: slot === handedOut ? [{ do: 'emit', event: 'unresolved' }] : [],
      })
    }
    // None of our transactions can have been there, so no fate has to be resolved.
    for (const slot of [undefined, hole]) expect(on(slot, { type: 'passed' }).row).toBe(0)
    const own = on(freed, { type: 'sealed', hash: hash('x1'), block: block(12) })
    expect(own).toMatchObject({ row: 24, slot: { by: { kind: 'other', hash: hash('x1') } } })
  })

  test('row 25: a nonce used by our own tuple is used by no claim, and is not foreign', () => {
    for (const slot of [hole, seeded]) {
      expect(on(slot, { ...evidence, authorized: true })).toMatchObject({
        row: 25,
        slot: { state: 'used', by: { kind: 'other' }, claims: [] },
        actions: [],
      })
    }
  })
})
