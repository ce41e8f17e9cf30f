import { describe, expect, test } from 'vitest'
import { a1, a2, attempt, b1, block, hash, liveSlot, noop, on, outcome, stuck } from './samples.fixture.js'
import type { Live } from './slot.js'

const resend = (name: string) => ({ do: 'resend', hash: hash(name) })
const backOff = (name: string) => ({ do: 'backOff', hash: hash(name) })

describe('rows of live nonces, from the chain and the caller', () => {
  test('row 18: any other refusal backs off with the same bytes; nonce too low looks for evidence', () => {
    expect(on(liveSlot(), outcome(a1.hash, 'refused')).actions).toEqual([backOff('a1')])
    expect(on(liveSlot(), outcome(a1.hash, 'nonceTooLow'))).toEqual({
      row: 18,
      slot: liveSlot(),
      actions: [{ do: 'findEvidence' }, backOff('a1')],
    })
  })

  test('row 19: a stuck attempt is resent, and bumped the next time', () => {
    const first = on(liveSlot(), stuck())
    expect(first).toEqual({ row: 19, slot: liveSlot({ resentSinceSigned: true }), actions: [resend('a1')] })
    expect(on(first.slot, stuck()).actions).toEqual([{ do: 'bump', token: 1, replacementRejections: 0 }])
    expect(on(first.slot, stuck({ head: false })).actions).toEqual([resend('a1')])
    expect(on(first.slot, stuck({ signer: false })).actions).toEqual([resend('a1')])
  })

  test('row 19: a permanent refusal, which no fee fixes, is resent unchanged and never bumped', () => {
    for (const refusals of [1, 2]) {
      for (const event of [stuck(), stuck({ priced: false })]) {
        const taken = on(liveSlot({ refusals, resentSinceSigned: true }), event)
        expect(taken).toMatchObject({ row: 19, actions: [resend('a1')] })
      }
    }
  })

  test('row 19: a bump without a result does not prevent the next resend', () => {
    const bumped = on(liveSlot({ resentSinceSigned: true }), stuck())
    expect(bumped.actions).toMatchObject([{ do: 'bump' }])
    expect(on(bumped.slot, stuck())).toMatchObject({
      row: 19,
      actions: [resend('a1')],
      slot: { resentSinceSigned: true },
    })
  })

  test('row 19: bytes below the base fee are bumped at once, at the head or not', () => {
    expect(on(liveSlot(), stuck({ head: false, priced: false })).actions).toMatchObject([{ do: 'bump' }])
  })

  test('row 19: missing bytes are requested again under the same token', () => {
    expect(on(liveSlot({ end: 'cancel', token: 4 }), stuck()).actions).toEqual([{ do: 'noop', token: 4 }])
    expect(
      on(liveSlot({ claims: ['a', 'b'], token: 4 }), { type: 'speedUp', named: false, token: 9 }).actions,
    ).toEqual([{ do: 'sign', claim: 'b', token: 4 }])
    expect(on(liveSlot({ claims: [], attempts: [], end: 'void' }), stuck()).actions).toMatchObject([
      { do: 'noop' },
    ])
  })

  test.each([
    ['at the ceiling and resent in vain', liveSlot({ resentSinceSigned: true }), stuck({ atCeiling: true })],
    ['refused three times', liveSlot({ refusals: 3 }), stuck()],
  ])('row 20: the head %s is voided', (_, slot, event) => {
    const taken = on(slot, event)
    expect(taken).toMatchObject({ row: 20, slot: { state: 'live', end: 'void', token: 9, claims: ['a'] } })
    expect(taken.actions).toContainEqual({ do: 'noop', token: 9 })
  })

  test('row 20: an end for permanent refusals is not reported as a fee ceiling', () => {
    expect(on(liveSlot({ refusals: 3 }), stuck()).actions).toEqual([{ do: 'noop', token: 9 }])
  })

  test('row 19: a slot without attempts and without wanted bytes sends nothing', () => {
    const bare = liveSlot({ attempts: [], claims: [] })
    for (const event of [stuck(), stuck({ priced: false }), stuck({ atCeiling: true })])
      expect(on(bare, event)).toEqual({ row: 0, slot: bare, actions: [] })
    expect(on({ ...bare, displaced: true }, stuck()).actions).toEqual([{ do: 'emit', event: 'stuck' }])
  })

  test('row 20: not voided behind the head, nor if no no-op could get in either', () => {
    const resentSinceSigned = liveSlot({ resentSinceSigned: true })
    expect(on(resentSinceSigned, stuck({ atCeiling: true, head: false })).row).toBe(19)
    expect(on(resentSinceSigned, stuck({ atCeiling: true, fillable: false })).row).toBe(19)
    expect(on(liveSlot({ refusals: 3 }), stuck({ signer: false })).row).toBe(19)
  })

  test('row 19, P8: at the ceiling, resent in vain and not voidable, it emits feeCeiling', () => {
    const resentSinceSigned = liveSlot({ resentSinceSigned: true })
    const reports = { do: 'emit', event: 'feeCeiling' }
    expect(on(resentSinceSigned, stuck({ atCeiling: true, fillable: false })).actions).toContainEqual(reports)
    expect(on(liveSlot(), stuck({ atCeiling: true, fillable: false })).actions).not.toContainEqual(reports)
    expect(on(resentSinceSigned, stuck({ atCeiling: true, head: false })).actions).not.toContainEqual(reports)
    const ending = liveSlot({ resentSinceSigned: true, end: 'void', attempts: [a1, noop] })
    expect(on(ending, stuck({ atCeiling: true, fillable: false })).actions).not.toContainEqual(reports)
  })

  test('row 21: cancel requests a no-op, and from then on the claim is never bumped', () => {
    const taken = on(liveSlot(), { type: 'cancel', token: 5 })
    expect(taken).toEqual({
      row: 21,
      slot: liveSlot({ end: 'cancel', token: 5 }),
      actions: [{ do: 'noop', token: 5 }],
    })
    expect(on(taken.slot, { type: 'speedUp', named: false, token: 9 }).actions).toEqual([
      { do: 'noop', token: 5 },
    ])
    expect(on(taken.slot, { type: 'cancel', token: 6 }).row).toBe(0)
    const sent = { ...taken.slot, attempts: [a1, noop] } as Live
    expect(on(sent, { type: 'speedUp', named: false, token: 9 }).actions).toEqual([
      { do: 'bump', token: 5, replacementRejections: 0 },
    ])
  })

  test("row 22: replace claims the nonce for T' and signs it; after an end it is refused", () => {
    expect(on(liveSlot({ refusals: 2 }), { type: 'replace', claim: 'b', token: 5 })).toEqual({
      row: 22,
      slot: liveSlot({ claims: ['a', 'b'], token: 5 }),
      actions: [{ do: 'sign', claim: 'b', token: 5 }],
    })
    expect(() => on(liveSlot({ end: 'cancel' }), { type: 'replace', claim: 'b', token: 5 })).toThrow(
      'replace',
    )
  })

  test("row 22: bytes of T that arrive after those of T' are kept behind them", () => {
    const slot = liveSlot({ claims: ['a', 'b'], attempts: [a1, b1] })
    const late = on(slot, { type: 'journaled', token: 1, attempt: a2 })
    expect(late).toEqual({ row: 4, slot: { ...slot, attempts: [a2, a1, b1] }, actions: [] })
  })

  test('row 23: only our own attempt preconfirms, and the sealed block of that number takes it back', () => {
    const seen = on(liveSlot({ displaced: true }), { type: 'preconfirmed', hash: a1.hash, blockNumber: 11 })
    expect(seen).toEqual({
      row: 23,
      slot: liveSlot({ preconfirmed: { hash: a1.hash, blockNumber: 11 } }),
      actions: [{ do: 'emit', event: 'preconfirmed' }],
    })
    expect(on(liveSlot(), { type: 'preconfirmed', hash: hash('f'), blockNumber: 11 }).row).toBe(0)
    expect(on(seen.slot, { type: 'notPreconfirmed', blockNumber: 10 }).row).toBe(0)
    expect(on(seen.slot, { type: 'notPreconfirmed', blockNumber: 11 })).toEqual({
      row: 23,
      slot: liveSlot(),
      actions: [{ do: 'emit', event: 'reorged' }],
    })
  })

  test('row 23: another attempt may replace it in the same pending block, and is reported too', () => {
    const slot = liveSlot({ attempts: [a1, noop], end: 'cancel' })
    const first = on(slot, { type: 'preconfirmed', hash: a1.hash, blockNumber: 11 })
    expect(on(first.slot, { type: 'preconfirmed', hash: a1.hash, blockNumber: 11 }).row).toBe(0)
    // In the next pending block it is recorded, but not reported again.
    expect(on(first.slot, { type: 'preconfirmed', hash: a1.hash, blockNumber: 12 })).toEqual({
      row: 23,
      slot: { ...slot, preconfirmed: { hash: a1.hash, blockNumber: 12 } },
      actions: [],
    })
    expect(on(first.slot, { type: 'preconfirmed', hash: noop.hash, blockNumber: 11 })).toEqual({
      row: 23,
      slot: { ...slot, preconfirmed: { hash: noop.hash, blockNumber: 11 } },
      actions: [{ do: 'emit', event: 'preconfirmed' }],
    })
  })

  test('row 24: any of our attempts in a sealed block uses the nonce', () => {
    const slot = liveSlot({ attempts: [a1, noop], end: 'cancel' })
    for (const [known, by] of [
      [a1, { kind: 'claim', claim: 'a', hash: a1.hash }],
      [noop, { kind: 'noop', hash: noop.hash }],
    ] as const) {
      const taken = on(slot, { type: 'sealed', hash: known.hash, block: block(12) })
      expect(taken).toMatchObject({
        row: 24,
        slot: { state: 'used', by, at: block(12), settled: false, end: 'cancel' },
      })
    }
    const ended = liveSlot({ attempts: [attempt('x', 'x1'), a1] })
    expect(on(ended, { type: 'sealed', hash: hash('x1'), block: block(12) })).toMatchObject({
      slot: { by: { kind: 'other' } },
      actions: [{ do: 'emit', event: 'foreign' }],
    })
  })

  test('row 25: evidence marks the nonce as used by another sender, and frees nothing yet', () => {
    expect(on(liveSlot(), { type: 'evidence', block: block(12), hash: undefined })).toEqual({
      row: 25,
      slot: {
        state: 'used',
        nonce: 7,
        attempts: [a1],
        claims: ['a'],
        end: undefined,
        by: { kind: 'other', hash: undefined },
        at: block(12),
        settledBefore: false,
        settled: false,
        committing: 0,
      },
      actions: [{ do: 'emit', event: 'foreign' }],
    })
  })

  test('row 26: a nonce passed without evidence is unproven, and no conclusion is drawn', () => {
    expect(on(liveSlot(), { type: 'passed' })).toMatchObject({
      row: 26,
      slot: { state: 'used', by: { kind: 'unproven' }, at: undefined, settled: false },
      actions: [{ do: 'emit', event: 'unresolved' }],
    })
  })

  test('row 26: a nonce that concerns no caller emits no event', () => {
    const noopsAlone = liveSlot({ claims: [], end: 'void', attempts: [noop] })
    expect(on(noopsAlone, { type: 'passed' })).toMatchObject({
      row: 26,
      slot: { state: 'used', by: { kind: 'unproven' } },
      actions: [],
    })
  })
})
