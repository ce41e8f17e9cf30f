import { describe, expect, test } from 'vitest'
import {
  a1,
  attempt,
  block,
  byNoop,
  byOther,
  hash,
  liveSlot,
  noop,
  on,
  unproven,
  usedSlot,
} from './samples.fixture.js'
import type { Attempt, Slot } from './slot.js'

const outside = attempt('o', 'o1')
const bare = attempt(undefined, 'o2')
const reported = (made: Attempt) => ({ type: 'outsideCommitted', attempt: made }) as const
const handedOut: Slot = { state: 'outside', nonce: 7, attempts: [], origin: 'handedOut' }

describe('row 9: bytes that outside code made', () => {
  test('are watched, with the transaction that they carry, if any', () => {
    const none = { token: 0, claims: [], attempts: [bare] }
    expect(on(handedOut, reported(bare))).toEqual({ row: 9, slot: liveSlot(none), actions: [] })
    const one = { token: 0, claims: ['o'], attempts: [outside] }
    expect(on(handedOut, reported(outside))).toEqual({ row: 9, slot: liveSlot(one), actions: [] })
  })

  const watched = liveSlot({ claims: ['o'], attempts: [outside] })
  const voided = liveSlot({ claims: [], end: 'void', attempts: [noop] })
  const second = attempt('o', 'o3')

  test.each<[string, Slot, Attempt, Partial<Slot>]>([
    ['another version of them is the newest', watched, second, { attempts: [outside, second] }],
    ['bytes without a transaction claim nothing', voided, bare, { attempts: [bare, noop] }],
    [
      'after a cancel they stay behind',
      { ...watched, end: 'cancel' },
      second,
      { attempts: [second, outside] },
    ],
    ['another transaction of the nonce stays', liveSlot(), outside, { attempts: [outside, a1] }],
    ['without a transaction they stay behind one', liveSlot(), bare, { attempts: [bare, a1] }],
  ])('%s', (_, slot, made, then) => {
    expect(on(slot, reported(made))).toEqual({ row: 9, slot: { ...slot, ...then }, actions: [] })
  })

  test.each<[string, Slot]>([
    ['that is watched', liveSlot()],
    ['that was used by an unread transaction', usedSlot({ kind: 'other', hash: undefined })],
    ['that was used by another transaction', usedSlot(byOther, { claims: [] })],
  ])('are not kept twice at a nonce %s', (_, slot) => {
    const taken = on(slot, reported(a1))
    expect(taken).toEqual({ row: 0, slot, actions: [] })
    expect(taken.slot).toBe(slot)
  })

  const unresolved = { at: undefined, claims: [] }

  test.each<[string, Slot, Attempt, Partial<Slot>]>([
    [
      'they did not use it, but another transaction did',
      usedSlot(byOther, { claims: [] }),
      outside,
      { claims: ['o'] },
    ],
    ['a no-op of ours used it', usedSlot(byNoop, { claims: [], attempts: [a1] }), outside, { claims: ['o'] }],
    ['the use is unproven', usedSlot(unproven, unresolved), outside, { claims: ['o'] }],
    ['another transaction is bound there', usedSlot(byOther), outside, {}],
    ['they carry no transaction', usedSlot(byOther, { claims: [] }), bare, {}],
  ])('late, if %s: they are kept, and the use of the nonce stays as it is', (_, slot, made, then) => {
    const attempts = [made, ...slot.attempts]
    expect(on(slot, reported(made))).toEqual({ row: 0, slot: { ...slot, attempts, ...then }, actions: [] })
  })

  test('late, they count as the use if the block names them', () => {
    const slot = usedSlot({ kind: 'other', hash: bare.hash }, { claims: [] })
    expect(on(slot, reported(bare)).slot).toMatchObject({ by: { kind: 'noop', hash: bare.hash }, claims: [] })
  })
})

test('a nonce without a verdict has none when another transaction uses it', () => {
  const evidence = { type: 'evidence', block: block(10), hash: hash('f') } as const
  expect(on(handedOut, evidence).slot).toEqual(usedSlot(byOther, { attempts: [], claims: [] }))
})
