import { describe, expect, test } from 'vitest'
import {
  a1,
  a2,
  b1,
  block,
  byA,
  byNoop,
  byOther,
  liveSlot,
  noop,
  on,
  unproven,
  usedSlot,
} from './samples.fixture.js'
import type { Slot, Used } from './slot.js'

const unresolved = (over: Partial<Used> = {}) => usedSlot(unproven, { at: undefined, ...over })
const refuted = { type: 'refuted', token: 6 } as const
const unwitnessed = { type: 'unwitnessed', block: block(10), token: 6 } as const
const left = { type: 'left', block: block(10), token: 6 } as const

describe('rows 27, 28 and 34: a use that is taken back before its verdict', () => {
  const reorged = [{ do: 'emit', event: 'reorged' }] as const
  const ways = [
    ['the count is refuted', unresolved, refuted, 'hole', []],
    ['its body holds no witness', (over: Partial<Used>) => usedSlot(byOther, over), unwitnessed, 'hole', []],
    ['its block left', (over: Partial<Used>) => usedSlot(byOther, over), left, 'outside', reorged],
  ] as const

  test.each(ways)('%s: without anything of ours the nonce is free', (_, slot, event, state, reported) => {
    const taken = on(slot({ claims: [], attempts: [] }), event)
    const origin = state === 'outside' ? { origin: 'seeded' } : {}
    expect(taken.slot).toEqual({ state, nonce: 7, attempts: [], ...origin })
    expect(taken.actions).toEqual(reported)
  })

  test.each(ways)('%s: a transaction without bytes is signed', (_, slot, event, __, reported) => {
    const taken = on(slot({ attempts: [] }), event)
    expect(taken.slot).toEqual(liveSlot({ attempts: [], token: 6 }))
    expect(taken.actions).toEqual([...reported, { do: 'sign', claim: 'a', token: 6 }])
  })

  test.each(ways)('%s: a commit under way keeps it', (_, slot, event, __, reported) => {
    const bare = { claims: [], attempts: [], committing: 1 }
    const taken = on(slot(bare), event)
    expect(taken.slot).toEqual(liveSlot({ ...bare, end: 'void', token: 6 }))
    expect(taken.actions).toEqual([...reported, { do: 'noop', token: 6 }])
  })

  test.each(ways)('%s: an end stays the same', (_, slot, event, __, reported) => {
    const taken = on(slot({ end: 'cancel', attempts: [a1, noop], settledBefore: true }), event)
    expect(taken.slot).toEqual(
      liveSlot({ end: 'cancel', attempts: [a1, noop], settledBefore: true, token: 6 }),
    )
    expect(taken.actions).toEqual([...reported, { do: 'resend', hash: noop.hash }])
  })

  test('row 34: a body does not take back a use that no block showed', () => {
    const slot = usedSlot(byOther, { at: undefined })
    expect(on(slot, unwitnessed)).toEqual({ row: 0, slot, actions: [] })
  })
})

describe('rows 27 and 32: a use that is taken back after its verdict', () => {
  test("an operator's word resends the newest attempt of the transaction, never its no-op", () => {
    const said = on(unresolved({ attempts: [a1, a2, noop] }), {
      type: 'resolve',
      claim: 'a',
      fate: 'executed',
    })
    const taken = on(said.slot, refuted)
    expect(taken.slot).toMatchObject({ claims: ['a'], end: undefined, attempts: [a1, noop, a2] })
    expect(taken.actions.at(-1)).toEqual({ do: 'resend', hash: a2.hash })
  })

  test('a transaction without bytes that an operator declared executed is voided', () => {
    for (const attempts of [[], [b1]]) {
      const said = on(unresolved({ attempts }), { type: 'resolve', claim: 'a', fate: 'executed' })
      const taken = on(said.slot, refuted)
      expect(taken.slot).toEqual(
        liveSlot({ attempts, claims: [], end: 'void', settledBefore: true, token: 6 }),
      )
      expect(taken.actions.at(-1)).toEqual({ do: 'noop', token: 6 })
    }
  })

  test.each<[string, Slot]>([
    ['a no-op', usedSlot(byNoop, { attempts: [a1, noop], settled: true })],
    [
      'an ended transaction',
      usedSlot({ kind: 'other', hash: a1.hash }, { attempts: [noop, a1], claims: [], settled: true }),
    ],
  ])('%s that landed is voided', (_, slot) => {
    expect(on(slot, left)).toMatchObject({ row: 32, slot: { claims: [], end: 'void', settledBefore: true } })
  })
})

describe('row 24: the owner of an attempt in a block, once a verdict was taken back', () => {
  const sealed = (name: typeof a1) => ({ type: 'sealed', hash: name.hash, block: block(12) }) as const
  const foreign = [{ do: 'emit', event: 'foreign' }]

  test('an ended transaction is foreign next to a bound one', () => {
    const slot = liveSlot({ attempts: [b1, a1], settledBefore: true })
    const taken = on(slot, sealed(b1))
    expect(taken.slot).toMatchObject({ claims: ['a'], by: { kind: 'other', hash: b1.hash } })
    expect(taken.actions).toEqual(foreign)
  })

  test.each(['cancel', 'void'] as const)(
    'an ended transaction is foreign next to an end (%s) without a verdict',
    (end) => {
      const taken = on(liveSlot({ attempts: [b1, a1], end }), sealed(b1))
      expect(taken.slot).toMatchObject({ claims: ['a'], by: { kind: 'other', hash: b1.hash } })
      expect(taken.actions).toEqual(foreign)
    },
  )

  test('a bound transaction has landed, and takes nothing back', () => {
    const taken = on(liveSlot({ attempts: [b1, a1], end: 'void', settledBefore: true }), sealed(a1))
    expect(taken.slot).toMatchObject({ claims: ['a'], by: byA, end: 'void' })
    expect(taken.actions).toEqual([{ do: 'emit', event: 'sealed' }])
  })

  test('an unbound transaction has landed too, although no end was requested', () => {
    const taken = on(liveSlot({ attempts: [b1, a1], claims: [], settledBefore: true }), sealed(a1))
    expect(taken.slot).toMatchObject({ claims: ['b', 'a'], by: byA })
  })
})

test('row 21, used: a void slot is not cancelled', () => {
  const slot = usedSlot(byOther, { end: 'void' })
  expect(on(slot, { type: 'cancel', token: 5 })).toEqual({ row: 0, slot, actions: [] })
})
