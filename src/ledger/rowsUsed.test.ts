import { describe, expect, test } from 'vitest'
import {
  a1,
  a2,
  attempt,
  b1,
  block,
  byA,
  byNoop,
  byOther,
  hash,
  noop,
  on,
  outcome,
  stuck,
  unproven,
  usedSlot,
} from './samples.fixture.js'
import type { Live, Slot, Used } from './slot.js'
import { slotWith } from './slotWith.js'

const left = { type: 'left', block: block(10), token: 6 } as const
const unresolved = (over: Partial<Used> = {}) => usedSlot(unproven, { at: undefined, ...over })

describe('rows of used nonces', () => {
  test('row 27: evidence after all', () => {
    expect(on(unresolved(), { type: 'evidence', block: block(10), hash: hash('f') })).toMatchObject({
      row: 27,
      slot: { by: byOther, at: block(10), settled: false },
      actions: [{ do: 'emit', event: 'foreign' }],
    })
    expect(on(unresolved(), { type: 'sealed', hash: a1.hash, block: block(10) })).toMatchObject({
      row: 27,
      slot: { by: byA, at: block(10), settled: false },
    })
  })

  test('row 27: a refuted count reopens the nonce, and its bound transaction is sent again', () => {
    expect(on(unresolved(), { type: 'refuted', token: 6 })).toMatchObject({
      row: 27,
      slot: { state: 'live', claims: ['a'], attempts: [a1], end: undefined, token: 6 },
      actions: [{ do: 'resend', hash: a1.hash }],
    })
    const empty = unresolved({ claims: [], attempts: [] })
    expect(on(empty, { type: 'refuted', token: 6 })).toMatchObject({ row: 27, slot: { state: 'hole' } })
    for (const by of [byA, byNoop, byOther])
      expect(on(usedSlot(by), { type: 'refuted', token: 6 }).row).toBe(0)
  })

  test('row 34: a body read again without the witness reopens the nonce', () => {
    const unwitnessed = { type: 'unwitnessed', block: block(10), token: 6 } as const
    expect(on(usedSlot(byOther), unwitnessed)).toMatchObject({
      row: 34,
      slot: { state: 'live', claims: ['a'], attempts: [a1] },
      actions: [{ do: 'resend', hash: a1.hash }],
    })
    expect(on(usedSlot(byOther, { claims: [], attempts: [] }), unwitnessed).slot.state).toBe('hole')
    // The verdict is given, or it was another block.
    expect(on(usedSlot(byOther, { settled: true }), unwitnessed).row).toBe(0)
    expect(on(usedSlot(byOther), { ...unwitnessed, block: block(11) }).row).toBe(0)
    for (const by of [byA, byNoop]) expect(on(usedSlot(by), unwitnessed).row).toBe(0)
  })

  test('row 27: evidence that our own tuple used it emits no event', () => {
    const evidence = { type: 'evidence', block: block(10), hash: undefined, authorized: true } as const
    expect(on(unresolved(), evidence)).toMatchObject({
      row: 27,
      slot: { by: { kind: 'other' } },
      actions: [],
    })
  })

  test('row 27: the operator declares it executed', () => {
    expect(on(unresolved(), { type: 'resolve', claim: 'a', fate: 'executed' })).toMatchObject({
      row: 27,
      slot: { settled: true, by: { kind: 'claim', claim: 'a', hash: undefined } },
      actions: [{ do: 'landed', claim: 'a', hash: undefined }],
    })
  })

  test('row 27: the operator declares it not executed: it is queued again, or ends as asked', () => {
    const word = { type: 'resolve', claim: 'a', fate: 'notExecuted' } as const
    expect(on(unresolved(), word)).toMatchObject({
      slot: { settled: true },
      actions: [{ do: 'queueAgain', claim: 'a' }],
    })
    expect(on(unresolved({ end: 'cancel' }), word).actions).toEqual([
      { do: 'end', claim: 'a', as: 'cancelled' },
    ])
    expect(on(usedSlot(byOther), word).row).toBe(0)
  })

  test('row 27: the word about a replacement does not concern the replaced one, which is never queued again', () => {
    const first = on(unresolved({ claims: ['a', 'b'] }), { type: 'resolve', claim: 'b', fate: 'notExecuted' })
    expect(first).toMatchObject({
      slot: { settled: false, claims: ['a'] },
      actions: [{ claim: 'b', as: 'tooLate' }],
    })
    expect(on(first.slot, { type: 'resolve', claim: 'a', fate: 'notExecuted' }).actions).toEqual([
      { do: 'end', claim: 'a', as: 'voided' },
    ])
    const ended = on(unresolved({ claims: ['a', 'b'], end: 'cancel' }), {
      type: 'resolve',
      claim: 'b',
      fate: 'notExecuted',
    })
    expect(ended).toMatchObject({
      slot: { claims: ['a'], end: 'void' },
      actions: [{ claim: 'b', as: 'cancelled' }],
    })
    const other = on(unresolved({ claims: ['a', 'b'] }), { type: 'resolve', claim: 'a', fate: 'notExecuted' })
    expect(other).toMatchObject({
      slot: { settled: false, claims: ['b'] },
      actions: [{ claim: 'a', as: 'superseded' }],
    })
  })

  test('row 28: its block left: live again, with the same wants, and the newest is resent', () => {
    const taken = on(usedSlot(byA), left)
    expect(taken).toMatchObject({ row: 28, slot: { state: 'live', claims: ['a'], end: undefined, token: 6 } })
    expect(taken.actions).toEqual([
      { do: 'emit', event: 'reorged' },
      { do: 'resend', hash: a1.hash },
    ])
    expect(on(usedSlot(byA), { ...left, block: block(10, 'fork') }).row).toBe(0)
  })

  test('row 28: bytes of an ended or cancelled transaction are not resent: a no-op is signed', () => {
    const rejected = usedSlot(byOther, { claims: [], attempts: [attempt('x', 'x1')] })
    expect(on(rejected, left)).toMatchObject({
      slot: { end: 'void' },
      actions: [{ do: 'emit' }, { do: 'noop', token: 6 }],
    })
    const cancelled = usedSlot(byA, { end: 'cancel' })
    expect(on(cancelled, left).actions[1]).toEqual({ do: 'noop', token: 6 })
    const replaced = usedSlot(byA, { claims: ['a', 'b'] })
    expect(on(replaced, left).actions[1]).toEqual({ do: 'sign', claim: 'b', token: 6 })
  })

  test('row 28: without attempts it is outside, unless it is claimed or a commit is under way', () => {
    const bare = usedSlot(byOther, { claims: [], attempts: [] })
    expect(on(bare, left)).toMatchObject({ row: 28, slot: { state: 'outside', origin: 'seeded' } })
    const cancelled = { ...bare, claims: ['a'], end: 'cancel' } as const
    expect(on(cancelled, left)).toMatchObject({
      slot: { state: 'live', claims: ['a'] },
      actions: [{}, { do: 'noop' }],
    })
    expect(on({ ...bare, committing: 1 }, left).slot).toMatchObject({
      state: 'live',
      end: 'void',
      committing: 1,
    })
  })

  test('row 29: the claim that landed has landed; earlier ones are superseded, later ones too late', () => {
    const slot = usedSlot(
      { kind: 'claim', claim: 'b', hash: b1.hash },
      { claims: ['a', 'b', 'c'], attempts: [a1, b1] },
    )
    expect(on(slot, { type: 'lossDepth' })).toEqual({
      row: 29,
      slot: { ...slot, settled: true },
      actions: [
        { do: 'end', claim: 'a', as: 'superseded' },
        { do: 'landed', claim: 'b', hash: b1.hash },
        { do: 'end', claim: 'c', as: 'tooLate' },
      ],
    })
    expect(on(usedSlot(byA, { end: 'cancel' }), { type: 'lossDepth' }).actions).toMatchObject([
      { do: 'landed' },
    ])
  })

  test.each([
    ['cancel', 'cancelled'],
    ['void', 'voided'],
    [undefined, 'voided'],
  ] as const)(
    'row 30: after a no-op of ours with end %s the last claim is %s, and never queued again',
    (end, as) => {
      const slot = usedSlot(byNoop, { claims: ['a', 'b'], end, attempts: [a1, b1, noop] })
      const { row, actions } = on(slot, { type: 'lossDepth' })
      expect(row).toBe(30)
      expect(actions.filter((action) => action.do !== 'emit')).toEqual([
        { do: 'end', claim: 'a', as: 'superseded' },
        { do: 'end', claim: 'b', as },
      ])
    },
  )

  test.each([
    [undefined, { do: 'queueAgain', claim: 'b' }],
    ['cancel', { do: 'end', claim: 'b', as: 'cancelled' }],
    ['void', { do: 'end', claim: 'b', as: 'voided' }],
  ] as const)('row 31: used by another with end %s, only the last claim continues, as asked', (end, last) => {
    const slot = usedSlot(byOther, { claims: ['a', 'b'], end })
    expect(on(slot, { type: 'lossDepth' })).toEqual({
      row: 31,
      slot: { ...slot, settled: true },
      actions: [{ do: 'end', claim: 'a', as: 'superseded' }, last],
    })
  })

  test('row 21, used: a cancel before the verdict keeps the claim from being queued again', () => {
    const cancelled = on(usedSlot(byOther), { type: 'cancel', token: 5 })
    expect(cancelled).toEqual({ row: 21, slot: usedSlot(byOther, { end: 'cancel' }), actions: [] })
    expect(on(cancelled.slot, { type: 'lossDepth' }).actions).toEqual([
      { do: 'end', claim: 'a', as: 'cancelled' },
    ])
    expect(on(usedSlot(byOther, { settled: true }), { type: 'cancel', token: 5 }).row).toBe(0)
  })

  test('no verdict is given on an unproven use, nor a second one on a settled use', () => {
    expect(on(unresolved(), { type: 'lossDepth' }).row).toBe(0)
    expect(on(usedSlot(byA, { settled: true }), { type: 'lossDepth' }).row).toBe(0)
  })

  test('row 32: a settled block left: the lane is held and reports it; voided or requeued claims are not resent', () => {
    const taken = on(usedSlot(byOther, { settled: true }), left)
    expect(taken).toMatchObject({ row: 32, slot: { state: 'live', end: 'void', claims: [] } })
    expect(taken.actions).toEqual([
      { do: 'emit', event: 'deepReorg' },
      { do: 'hold', reason: 'deepReorg' },
      { do: 'noop', token: 6 },
    ])
  })

  test('row 32: a landed transaction is resent, so that the reported outcome stays true', () => {
    const taken = on(usedSlot(byA, { settled: true, attempts: [a1, noop], claims: ['a', 'b'] }), left)
    expect(taken).toMatchObject({ row: 32, slot: { claims: ['a'], end: undefined, attempts: [noop, a1] } })
    expect(taken.actions[2]).toEqual({ do: 'resend', hash: a1.hash })
    const bumped = on(usedSlot(byA, { settled: true, attempts: [a1, a2] }), left)
    expect(bumped).toMatchObject({ slot: { attempts: [a2, a1] } })
    expect(bumped.actions[2]).toEqual({ do: 'resend', hash: a1.hash })
  })

  test('rows 20, 28 and 32: a transaction that left its block may end if no pool accepts it, unless it was settled', () => {
    const inVain = (slot: Slot) =>
      on(slotWith(slot as Live, { resentSinceSigned: true }), stuck({ atCeiling: true }))
    expect(inVain(on(usedSlot(byA), left).slot)).toMatchObject({ row: 20, slot: { end: 'void' } })
    const deep = on(usedSlot(byA, { settled: true }), left).slot
    expect(inVain(deep)).toMatchObject({ row: 19, slot: { end: undefined } })
    // Nor does it end when a smaller reorg takes it back once more.
    const again = on(on(deep, { type: 'sealed', hash: a1.hash, block: block(10) }).slot, left)
    expect(again.row).toBe(28)
    expect(inVain(again.slot).row).toBe(19)
  })

  test('row 33: beyond the horizon a settled nonce is pruned, an unsettled one never', () => {
    expect(on(usedSlot(byA, { settled: true }), { type: 'horizon' })).toEqual({
      row: 33,
      slot: { state: 'final', nonce: 7, attempts: [] },
      actions: [{ do: 'prune' }],
    })
    expect(on(usedSlot(byA), { type: 'horizon' }).row).toBe(0)
  })

  test('rows 27 and 34: bytes of ended transactions are not sent again: a no-op is signed', () => {
    const ended = { claims: [], attempts: [attempt('x', 'x1')] }
    for (const taken of [
      on(unresolved(ended), { type: 'refuted', token: 6 }),
      on(usedSlot(byOther, ended), { type: 'unwitnessed', block: block(10), token: 6 }),
    ])
      expect(taken).toMatchObject({
        slot: { state: 'live', claims: [], end: 'void' },
        actions: [{ do: 'noop', token: 6 }],
      })
  })

  test('evidence changes nothing if a body already showed the use of the nonce', () => {
    for (const by of [byA, byNoop, byOther])
      expect(on(usedSlot(by), { type: 'evidence', block: block(12), hash: hash('f2') }).row).toBe(0)
  })

  test('row 21, used: without a bound claim there is nothing to cancel', () => {
    expect(on(usedSlot(byOther, { claims: [] }), { type: 'cancel', token: 5 }).row).toBe(0)
  })

  test('late facts are recorded: bytes journaled after the use of the nonce, and sends', () => {
    const late = on(usedSlot(byOther, { committing: 1 }), { type: 'journaled', token: 1, attempt: b1 })
    expect(late.slot).toEqual(usedSlot(byOther, { attempts: [b1, a1] }))
    const known = on(late.slot, { type: 'journaled', token: 1, attempt: b1 })
    expect(known.slot).toEqual(late.slot)
    expect(on(usedSlot(byA), { type: 'sent', hash: a1.hash }).slot.attempts[0]?.sends).toBe(2)
    expect(on(usedSlot(byA), outcome(a1.hash, 'intrinsic')).row).toBe(0)
  })
})
