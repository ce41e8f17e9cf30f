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
  liveSlot,
  noop,
  reserved,
  unproven,
  usedSlot,
} from './samples.fixture.js'
import {
  concernsCaller,
  isRefusedForGood,
  isSameRecord,
  isUnsent,
  isUsed,
  lastClaim,
  type Slot,
  unboundBy,
} from './slot.js'

const hole: Slot = { state: 'hole', nonce: 7, attempts: [] }
const final: Slot = { state: 'final', nonce: 7, attempts: [] }
const handedOut: Slot = { state: 'outside', nonce: 7, attempts: [], origin: 'handedOut' }
const seeded: Slot = { state: 'outside', nonce: 7, attempts: [], origin: 'seeded' }

describe('a claim that has executed at a nonce is bound at no other (row 35)', () => {
  const here = usedSlot(byA)
  const elsewhere = (slot: Slot): Slot => ({ ...slot, nonce: 8 })
  const third = liveSlot({ nonce: 9 })

  test.each<[string, Slot]>([
    ['its bytes may still land', liveSlot()],
    ['it is reserved', reserved()],
    ['another transaction executed', usedSlot(byOther)],
    ['its no-op executed', usedSlot(byNoop)],
    ['the use is unproven', usedSlot(unproven)],
    ['another claim executed', usedSlot({ kind: 'claim', claim: 'b', hash: b1.hash })],
    ['nothing is bound', hole],
    ['everything is final', final],
  ])('it is unbound if %s', (_, slot) => {
    const other = elsewhere(slot)
    expect(unboundBy([here, other, third], 7, 'a')).toEqual([other, third])
  })

  test('it is unbound at this nonce alone if a block shows that it executed at another', () => {
    expect(unboundBy([here, elsewhere(usedSlot(byA)), third], 7, 'a')).toEqual([here])
  })

  test('its execution here binds it nowhere else', () => {
    expect(unboundBy([here, third], 7, 'a')).toEqual([third])
    expect(unboundBy([here], 7, 'a')).toEqual([])
  })
})

test.each<[Slot, string | undefined]>([
  [hole, undefined],
  [handedOut, undefined],
  [final, undefined],
  [reserved({ claim: 'r' }), 'r'],
  [liveSlot({ claims: ['a', 'b'] }), 'b'],
  [liveSlot({ claims: [] }), undefined],
  [usedSlot(byOther, { claims: ['a', 'b'] }), 'b'],
])('the newest claim bound to a nonce is to execute there (%#)', (slot, claim) => {
  expect(lastClaim(slot)).toBe(claim)
})

describe('a store receives a slot', () => {
  const freed: Slot = { ...hole, attempts: [a1] }

  test.each<[string, Slot | undefined, Slot]>([
    ['it has new bytes', liveSlot(), liveSlot({ attempts: [a1, a2] })],
    ['its first bytes', liveSlot({ attempts: [] }), liveSlot()],
    ['other bytes', liveSlot(), liveSlot({ attempts: [a2] })],
    ['it had bytes, and has none', freed, reserved()],
    ['it was live, and is reserved', liveSlot(), reserved({ attempts: [a1] })],
    ['it was used, and is reserved', usedSlot(byA), reserved({ attempts: [a1] })],
    ['it was handed out, and is reserved', handedOut, reserved()],
    ['it is live for the first time', reserved(), liveSlot({ attempts: [] })],
    ['it is live, and there was nothing', undefined, liveSlot({ attempts: [] })],
    ['it has a replacement', liveSlot(), liveSlot({ claims: ['a', 'b'] })],
    ['its replacement is another', liveSlot({ claims: ['a', 'b'] }), liveSlot({ claims: ['a', 'c'] })],
    ['the replaced transaction is gone', liveSlot({ claims: ['a', 'b'] }), liveSlot({ claims: ['b'] })],
    ['it has an end', liveSlot(), liveSlot({ end: 'void' })],
    ['it has no end any more', liveSlot({ end: 'void' }), liveSlot()],
    ['its verdict was taken back', liveSlot(), liveSlot({ settledBefore: true })],
    ['it is used', liveSlot(), usedSlot(byA)],
    ['its use is another', usedSlot(byOther), usedSlot(byA)],
    ['it is a hole', reserved(), hole],
  ])('if %s', (_, before, after) => {
    expect(isSameRecord(before, after)).toBe(false)
  })

  test.each<[string, Slot | undefined, Slot]>([
    ['a new nonce is reserved', undefined, reserved()],
    ['a hole is reserved', hole, reserved()],
    ['a hole with bytes is reserved', freed, reserved({ attempts: [a1] })],
    ['its reservation changes', reserved(), reserved({ claim: 'b', token: 2, committing: 1 })],
    ['its bytes are sent', liveSlot(), liveSlot({ attempts: [{ ...a1, sends: 2, accepted: true }] })],
    [
      'nothing changes that a later process reads',
      liveSlot({ claims: ['a', 'b'], end: 'cancel', settledBefore: true }),
      liveSlot({
        claims: ['a', 'b'],
        end: 'cancel',
        settledBefore: true,
        resentSinceSigned: true,
        refusals: 2,
        token: 3,
      }),
    ],
  ])('but not if %s', (_, before, after) => {
    expect(isSameRecord(before, after)).toBe(true)
  })
})

describe('a nonce concerns', () => {
  const empty = { attempts: [], claims: [] }

  test.each<[string, Slot]>([
    ['is reserved', reserved()],
    ['was handed out', handedOut],
    ['was counted before the start, and has bytes of a transaction', { ...seeded, attempts: [a1] }],
    ['has bytes of a transaction that has ended', liveSlot({ claims: [], attempts: [noop, a1] })],
    ['is bound, without bytes', liveSlot({ ...empty, claims: ['a'] })],
    ['may still get bytes', liveSlot({ ...empty, end: 'void', committing: 1 })],
    ['is used, and was bound without bytes', usedSlot(byOther, { ...empty, claims: ['a'] })],
    ['is used, and may still get bytes', usedSlot(byOther, { ...empty, committing: 1 })],
  ])('a caller, if it %s', (_, slot) => {
    expect(concernsCaller(slot)).toBe(true)
  })

  test.each<[string, Slot | undefined]>([
    ['is new', undefined],
    ['is a hole', hole],
    ['is a hole with the bytes of a rejected transaction', { ...hole, attempts: [a1] }],
    ['is final', final],
    ['was counted before the start', seeded],
    ['was counted before the start, and has a no-op', { ...seeded, attempts: [noop] }],
    ['has no-ops alone', liveSlot({ claims: [], attempts: [noop], end: 'void' })],
    ['was used by a no-op', usedSlot(byNoop, { claims: [], attempts: [noop] })],
  ])('no caller, if it %s', (_, slot) => {
    expect(concernsCaller(slot)).toBe(false)
  })
})

test('a bound nonce is unsent if this process has sent none of its bytes', () => {
  const unsent = attempt('a', 'a3', { sends: 0 })
  const all: [Slot | undefined, boolean][] = [
    [undefined, false],
    [hole, false],
    [reserved(), true],
    [liveSlot({ attempts: [] }), true],
    [liveSlot({ attempts: [unsent] }), true],
    [liveSlot({ attempts: [a1, unsent] }), false],
    [liveSlot(), false],
    [usedSlot(byA, { attempts: [] }), false],
  ]
  expect(all.map(([slot]) => isUnsent(slot))).toEqual(all.map(([, is]) => is))
})

test('a nonce is used because of a block, a count or an earlier record', () => {
  const used = [usedSlot(byA), usedSlot(byA, { at: block(9), settled: true }), usedSlot(unproven), final]
  expect(used.map(isUsed)).toEqual(used.map(() => true))
  const unused = [undefined, hole, seeded, reserved(), liveSlot()]
  expect(unused.map(isUsed)).toEqual(unused.map(() => false))
})

test('a slot is refused for good after three refusals, without an end and without a verdict', () => {
  const all: [Slot & { state: 'live' }, boolean][] = [
    [liveSlot({ refusals: 2 }), false],
    [liveSlot({ refusals: 3 }), true],
    [liveSlot({ refusals: 4 }), true],
    [liveSlot({ refusals: 3, end: 'cancel' }), false],
    [liveSlot({ refusals: 3, end: 'void' }), false],
    [liveSlot({ refusals: 3, settledBefore: true }), false],
  ]
  expect(all.map(([slot]) => isRefusedForGood(slot))).toEqual(all.map(([, is]) => is))
})
