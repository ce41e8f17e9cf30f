import { describe, expect, test } from 'vitest'
import type { SlotEvent } from './event.js'
import {
  a1,
  a2,
  attempt,
  block,
  byA,
  byOther,
  liveSlot,
  noop,
  on,
  outcome,
  reserved,
  stuck,
  usedSlot,
} from './samples.fixture.js'

const committing = (claim: string | undefined, token = 1) => ({ type: 'committing', token, claim }) as const
const journaled = (made = a2) => ({ type: 'journaled', token: 1, attempt: made }) as const

describe('bytes on their way to the store', () => {
  test('row 4: a commit of bytes that the slot wants begins, next to the commits under way', () => {
    for (const [slot, claim] of [
      [reserved(), 'a'],
      [reserved({ committing: 1 }), 'a'],
      [liveSlot(), 'a'],
      [liveSlot({ committing: 1, claims: ['a', 'b'] }), 'b'],
      [liveSlot({ end: 'cancel' }), undefined],
    ] as const) {
      const { committing: before } = slot
      expect(on(slot, committing(claim))).toEqual({
        row: 4,
        slot: { ...slot, committing: before + 1 },
        actions: [],
      })
    }
  })

  test.each([
    ['of another transaction, for a reserved nonce', reserved(), committing('b')],
    ['of a no-op, for a reserved nonce', reserved(), committing(undefined)],
    ['with a stale token, for a reserved nonce', reserved({ token: 2 }), committing('a')],
    ['of another transaction', liveSlot(), committing('b')],
    ['of the replaced transaction', liveSlot({ claims: ['a', 'b'] }), committing('a')],
    ['of an unwanted no-op', liveSlot(), committing(undefined)],
    ['with a stale token', liveSlot({ token: 2 }), committing('a')],
  ])('row 4: bytes %s are discarded', (_, slot, event) => {
    const taken = on(slot, event)
    expect(taken).toEqual({ row: 0, slot, actions: [] })
    expect(taken.slot).toBe(slot)
  })

  test('each commit that ends, either way, leaves the others under way', () => {
    const under = { committing: 3 }
    for (const slot of [reserved(under), liveSlot(under), usedSlot(byA, under)])
      for (const event of [{ type: 'notCommitted' } as const, journaled()])
        expect(on(slot, event).slot).toMatchObject({ committing: 2 })
  })

  test('the end of an unknown commit does not make the number negative', () => {
    for (const slot of [reserved(), liveSlot(), usedSlot(byA)])
      for (const event of [{ type: 'notCommitted' } as const, journaled()])
        expect(on(slot, event).slot).toMatchObject({ committing: 0 })
  })

  test('row 5: an unknown commit of stale bytes is not read again for a nonce that was reserved again', () => {
    const again = reserved({ token: 2 })
    expect(on(again, { type: 'commitUnknown', token: 1 })).toEqual({ row: 0, slot: again, actions: [] })
  })

  test('row 4: known bytes are neither kept twice nor broadcast again', () => {
    const slot = liveSlot({ attempts: [a1, a2], committing: 1, resentSinceSigned: true })
    for (const known of [a1, a2])
      expect(on(slot, journaled(known))).toEqual({ row: 0, slot: { ...slot, committing: 0 }, actions: [] })
  })

  test('row 4: new bytes are resent before they are bumped in turn', () => {
    const taken = on(liveSlot({ resentSinceSigned: true }), journaled())
    expect(taken.slot).toEqual(liveSlot({ attempts: [a1, a2] }))
    expect(on(taken.slot, stuck()).actions).toEqual([{ do: 'resend', hash: a2.hash }])
  })

  test('row 19: missing bytes are not requested twice while a commit is under way', () => {
    for (const slot of [
      liveSlot({ end: 'cancel', committing: 1 }),
      liveSlot({ claims: ['a', 'b'], committing: 1 }),
    ])
      expect(on(slot, stuck())).toEqual({ row: 19, slot, actions: [] })
  })
})

describe('row 6: a withdrawal is ignored', () => {
  test.each([
    ['the first transaction of a nonce', liveSlot({ attempts: [] }), 'a'],
    ['the first one, once replaced', liveSlot({ attempts: [], claims: ['a', 'b'] }), 'a'],
    ['a transaction that is not bound there', liveSlot({ claims: ['a', 'b'] }), 'c'],
  ])('for %s', (_, slot, claim) => {
    expect(on(slot, { type: 'withdraw', claim, why: 'failed' })).toEqual({ row: 0, slot, actions: [] })
  })
})

describe('row 7: bytes of an earlier transaction in a block at a reserved nonce', () => {
  const dead = attempt('x', 'x1')

  test.each([
    ['our no-op is sealed', noop, { kind: 'noop', hash: noop.hash }, 'sealed'],
    ['an ended transaction is foreign', dead, { kind: 'other', hash: dead.hash }, 'foreign'],
  ] as const)('%s, and the transaction that waited for the nonce is queued again', (_, known, by, event) => {
    const slot = reserved({ attempts: [known] })
    expect(on(slot, { type: 'sealed', hash: known.hash, block: block(12) })).toEqual({
      row: 7,
      slot: usedSlot(by, { claims: [], attempts: [known], at: block(12) }),
      actions: [
        { do: 'emit', event },
        { do: 'queueAgain', claim: 'a' },
      ],
    })
  })

  test('with a commit under way it is not queued again', () => {
    const slot = reserved({ attempts: [noop], committing: 1 })
    expect(on(slot, { type: 'sealed', hash: noop.hash, block: block(12) }).row).toBe(0)
  })
})

test('a send is counted only for the bytes that were sent', () => {
  const attempts = [a1, a2]
  const sent = { type: 'sent', hash: a2.hash } as const
  for (const slot of [liveSlot({ attempts }), usedSlot(byOther, { attempts })])
    expect(on(slot, sent).slot).toEqual({ ...slot, attempts: [a1, { ...a2, sends: 2 }] })
})

test('row 4: the bytes of a rejected transaction stay, behind those of the present one', () => {
  const dead = attempt('x', 'x1')
  const slot = reserved({ attempts: [dead, noop] })
  expect(on(slot, journaled(a1)).slot).toEqual(liveSlot({ attempts: [dead, noop, a1] }))
})

describe('bytes of a rejected transaction that are made again, to the byte', () => {
  const again = attempt('c', 'a1', { sends: 0 })
  const sealed = { type: 'sealed', hash: a1.hash, block: block(12) } as const
  const rejected = on(liveSlot(), outcome(a1.hash, 'intrinsic')).slot

  test.each<[string, readonly SlotEvent[]]>([
    [
      'by the present transaction of the nonce',
      [
        { type: 'reserve', claim: 'c', token: 4 },
        { type: 'committing', claim: 'c', token: 4 },
        { type: 'journaled', token: 4, attempt: again },
      ],
    ],
    ['by outside code', [{ type: 'handOut' }, { type: 'outsideCommitted', attempt: again }]],
  ])('belong to the present transaction: made %s', (_, events) => {
    const made = events.reduce((slot, event) => on(slot, event).slot, rejected)
    expect(made).toMatchObject({ state: 'live', claims: ['c'], attempts: [again] })
    const landed = on(made, sealed)
    expect(landed).toMatchObject({
      row: 24,
      slot: { by: { kind: 'claim', claim: 'c', hash: a1.hash } },
      actions: [{ do: 'emit', event: 'sealed' }],
    })
    expect(on(landed.slot, { type: 'lossDepth' }).actions).toEqual([
      { do: 'landed', claim: 'c', hash: a1.hash },
    ])
  })
})
