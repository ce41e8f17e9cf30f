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
  test('row 4: a commit of what the slot wants begins, beside those that are under way', () => {
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
    ['of what was replaced', liveSlot({ claims: ['a', 'b'] }), committing('a')],
    ['of a no-op that is not wanted', liveSlot(), committing(undefined)],
    ['with a stale token', liveSlot({ token: 2 }), committing('a')],
  ])('row 4: bytes %s are thrown away', (_, slot, event) => {
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

  test('an end of a commit of which nothing is known leaves none under way', () => {
    for (const slot of [reserved(), liveSlot(), usedSlot(byA)])
      for (const event of [{ type: 'notCommitted' } as const, journaled()])
        expect(on(slot, event).slot).toMatchObject({ committing: 0 })
  })

  test('row 5: whether the commit of stale bytes took is not asked for a nonce that is reserved again', () => {
    const again = reserved({ token: 2 })
    expect(on(again, { type: 'commitUnknown', token: 1 })).toEqual({ row: 0, slot: again, actions: [] })
  })

  test('row 4: bytes that are known are neither kept twice nor broadcast again', () => {
    const slot = liveSlot({ attempts: [a1, a2], committing: 1, nudged: true })
    for (const known of [a1, a2])
      expect(on(slot, journaled(known))).toEqual({ row: 0, slot: { ...slot, committing: 0 }, actions: [] })
  })

  test('row 4: new bytes are resent before they are bumped in their turn', () => {
    const taken = on(liveSlot({ nudged: true }), journaled())
    expect(taken.slot).toEqual(liveSlot({ attempts: [a1, a2] }))
    expect(on(taken.slot, stuck()).actions).toEqual([{ do: 'resend', hash: a2.hash }])
  })

  test('row 19: while a commit is under way what is lacking is not asked for twice', () => {
    for (const slot of [
      liveSlot({ end: 'cancel', committing: 1 }),
      liveSlot({ claims: ['a', 'b'], committing: 1 }),
    ])
      expect(on(slot, stuck())).toEqual({ row: 19, slot, actions: [] })
  })
})

describe('row 6: what cannot be withdrawn', () => {
  test.each([
    ['the first transaction of a nonce', liveSlot({ attempts: [] }), 'a'],
    ['the first one, once replaced', liveSlot({ attempts: [], claims: ['a', 'b'] }), 'a'],
    ['one that is not bound there', liveSlot({ claims: ['a', 'b'] }), 'c'],
  ])('is %s', (_, slot, claim) => {
    expect(on(slot, { type: 'withdraw', claim, why: 'failed' })).toEqual({ row: 0, slot, actions: [] })
  })
})

describe('row 7: bytes of an earlier transaction in a block at a nonce that is reserved', () => {
  const dead = attempt('x', 'x1')

  test.each([
    ['a no-op of ours is sealed', noop, { kind: 'noop', hash: noop.hash }, 'sealed'],
    ['what had ended is foreign', dead, { kind: 'other', hash: dead.hash }, 'foreign'],
  ] as const)('%s, and the transaction that waited for it is queued again', (_, known, by, event) => {
    const slot = reserved({ attempts: [known] })
    expect(on(slot, { type: 'sealed', hash: known.hash, block: block(12) })).toEqual({
      row: 7,
      slot: usedSlot(by, { claims: [], attempts: [known], at: block(12) }),
      actions: [
        { do: 'tell', event },
        { do: 'queueAgain', claim: 'a' },
      ],
    })
  })

  test('with a commit under way it is not queued again', () => {
    const slot = reserved({ attempts: [noop], committing: 1 })
    expect(on(slot, { type: 'sealed', hash: noop.hash, block: block(12) }).row).toBe(0)
  })
})

test('a send is counted for the bytes that were sent, and no others', () => {
  const attempts = [a1, a2]
  const sent = { type: 'sent', hash: a2.hash } as const
  for (const slot of [liveSlot({ attempts }), usedSlot(byOther, { attempts })])
    expect(on(slot, sent).slot).toEqual({ ...slot, attempts: [a1, { ...a2, sends: 2 }] })
})

test('row 4: bytes of what was rejected stay, behind those of the transaction that has the nonce then', () => {
  const dead = attempt('x', 'x1')
  const slot = reserved({ attempts: [dead, noop] })
  expect(on(slot, journaled(a1)).slot).toEqual(liveSlot({ attempts: [dead, noop, a1] }))
})

describe('bytes of what was rejected that are made again, to the byte', () => {
  const again = attempt('c', 'a1', { sends: 0 })
  const sealed = { type: 'sealed', hash: a1.hash, block: block(12) } as const
  const rejected = on(liveSlot(), outcome(a1.hash, 'intrinsic')).slot

  test.each<[string, readonly SlotEvent[]]>([
    [
      'by the transaction that has the nonce then',
      [
        { type: 'reserve', claim: 'c', token: 4 },
        { type: 'committing', claim: 'c', token: 4 },
        { type: 'journaled', token: 4, attempt: again },
      ],
    ],
    ['by outside code', [{ type: 'handOut' }, { type: 'outsideCommitted', attempt: again }]],
  ])('are the bytes of what carries them now: made %s', (_, events) => {
    const made = events.reduce((slot, event) => on(slot, event).slot, rejected)
    expect(made).toMatchObject({ state: 'live', claims: ['c'], attempts: [again] })
    const landed = on(made, sealed)
    expect(landed).toMatchObject({
      row: 24,
      slot: { by: { kind: 'claim', claim: 'c', hash: a1.hash } },
      actions: [{ do: 'tell', event: 'sealed' }],
    })
    expect(on(landed.slot, { type: 'lossDepth' }).actions).toEqual([
      { do: 'landed', claim: 'c', hash: a1.hash },
    ])
  })
})
