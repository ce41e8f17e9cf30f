import { describe, expect, test } from 'vitest'
import {
  a1,
  a2,
  attempt,
  block,
  hash,
  liveSlot,
  noop,
  on,
  outcome,
  reserved,
  stuck,
} from './samples.fixture.js'
import type { Attempt, Live } from './slot.js'

const resend = (name: string) => ({ do: 'resend', hash: hash(name) })
const backOff = (name: string) => ({ do: 'backOff', hash: hash(name) })

describe('rows of live nonces', () => {
  test('row 13: an acceptance clears earlier permanent refusals', () => {
    expect(on(liveSlot({ refusals: 2 }), outcome(a1.hash, 'accepted')).slot).toMatchObject({ refusals: 0 })
  })

  test('row 13: an acceptance of older bytes changes nothing for the newest', () => {
    const slot = liveSlot({ attempts: [a1, a2], displaced: true, refusals: 2, replacementRejections: 1 })
    expect(on(slot, outcome(a1.hash, 'accepted'))).toEqual({
      row: 13,
      slot: { ...slot, attempts: [{ ...a1, accepted: true }, a2] },
      actions: [],
    })
  })

  test('row 13: the nonce stays bound after accepted or unknown, and unknown resends the newest', () => {
    expect(on(liveSlot(), outcome(a1.hash, 'accepted'))).toEqual({
      row: 13,
      slot: liveSlot({ attempts: [{ ...a1, accepted: true }] }),
      actions: [],
    })
    expect(on(liveSlot(), outcome(a1.hash, 'unknown'))).toEqual({
      row: 13,
      slot: liveSlot(),
      actions: [resend('a1')],
    })
  })

  test('row 14: intrinsic fails the transaction if its only attempt was sent once in this epoch', () => {
    expect(on(liveSlot(), outcome(a1.hash, 'intrinsic'))).toEqual({
      row: 14,
      slot: { state: 'hole', nonce: 7, attempts: [a1] },
      actions: [{ do: 'end', claim: 'a', as: 'rejected' }],
    })
  })

  test.each<[string, Live, number]>([
    ['beside another attempt', liveSlot({ attempts: [a2, a1] }), 1],
    ['sent twice', liveSlot({ attempts: [{ ...a1, sends: 2 }] }), 1],
    ['accepted somewhere', liveSlot({ attempts: [{ ...a1, accepted: true }] }), 1],
    ['of another epoch', liveSlot(), 2],
    ['with a commit under way', liveSlot({ committing: 1 }), 1],
  ])('row 15: intrinsic %s frees nothing and is counted', (_, slot, epoch) => {
    expect(on(slot, outcome(a1.hash, 'intrinsic', epoch))).toEqual({
      row: 15,
      slot: { ...slot, refusals: 1 },
      actions: [backOff('a1')],
    })
  })

  test('row 15: intrinsic frees nothing once a replacement or an end was requested', () => {
    for (const slot of [liveSlot({ claims: ['a', 'b'] }), liveSlot({ end: 'cancel' })]) {
      expect(on(slot, outcome(a1.hash, 'intrinsic'))).toEqual({ row: 15, slot, actions: [] })
    }
  })

  test('row 15: the refusal of an ended transaction does not free the nonce of the present one', () => {
    for (const ended of [attempt('x', 'x1'), noop]) {
      const slot = liveSlot({ attempts: [ended] })
      expect(on(slot, outcome(ended.hash, 'intrinsic'))).toEqual({ row: 15, slot, actions: [] })
    }
  })

  test('row 15: a counted refusal is counted for the newest attempt only', () => {
    expect(on(liveSlot(), outcome(a1.hash, 'counted')).slot).toEqual(liveSlot({ refusals: 1 }))
    const two = liveSlot({ attempts: [a1, a2] })
    expect(on(two, outcome(a1.hash, 'counted'))).toEqual({ row: 15, slot: two, actions: [] })
  })

  test('rows 13 to 18: unwanted bytes are not resent, whatever the outcome', () => {
    const rejected = liveSlot({ claims: [], end: 'void', attempts: [attempt('x', 'x1')] })
    for (const slot of [liveSlot({ end: 'cancel' }), liveSlot({ claims: ['a', 'b'] }), rejected]) {
      for (const said of [
        'unknown',
        'counted',
        'feeTooLow',
        'underpriced',
        'nonceTooLow',
        'refused',
      ] as const) {
        const { slot: after, actions } = on(slot, outcome(slot.attempts[0]?.hash ?? '0x', said))
        expect([after, actions]).toEqual([slot, said === 'nonceTooLow' ? [{ do: 'findEvidence' }] : []])
      }
    }
  })

  test('row 16: a fee too low is bumped, unless the refused bytes are unwanted', () => {
    expect(on(liveSlot(), outcome(a1.hash, 'feeTooLow')).actions).toEqual([
      { do: 'bump', token: 1, replacementRejections: 0 },
    ])
    expect(on(liveSlot({ end: 'cancel' }), outcome(a1.hash, 'feeTooLow'))).toMatchObject({
      row: 16,
      actions: [],
    })
    expect(on(liveSlot({ claims: ['a', 'b'] }), outcome(a1.hash, 'feeTooLow')).actions).toEqual([])
  })

  test('row 17: underpriced without other attempts means displaced: waits, resends, neither bumps nor voids', () => {
    const displaced = on(liveSlot(), outcome(a1.hash, 'underpriced'))
    expect(displaced).toEqual({
      row: 17,
      slot: liveSlot({ displaced: true }),
      actions: [{ do: 'emit', event: 'displaced' }],
    })
    // A second refusal brings no new information: each stuck event resends the bytes and emits an event.
    expect(on(displaced.slot, outcome(a1.hash, 'underpriced')).actions).toEqual([])
    const waiting = on(displaced.slot, stuck({ atCeiling: true, priced: false }))
    expect(waiting).toEqual({
      row: 17,
      slot: liveSlot({ displaced: true, resentSinceSigned: true }),
      actions: [{ do: 'emit', event: 'stuck' }, resend('a1')],
    })
  })

  test('row 17: underpriced next to our own attempts makes the next bump larger, three times', () => {
    let slot = liveSlot({ attempts: [a1, a2] })
    for (const replacementRejections of [1, 2, 3]) {
      const taken = on(slot, outcome(a2.hash, 'underpriced'))
      // The pool stated no sufficient price: the bump waits for the next stuck event.
      expect(taken).toMatchObject({ row: 17, actions: [] })
      slot = taken.slot as Live
      expect(slot).toMatchObject({ replacementRejections, displaced: false })
      expect(on(slot, stuck()).actions).toEqual([{ do: 'bump', token: 1, replacementRejections }])
    }
    expect(on(slot, outcome(a2.hash, 'underpriced')).slot).toMatchObject({ displaced: true })
  })

  test('row 17: if the pool states its replacement price, the bump is made at once, three times', () => {
    const said = { ...outcome(a2.hash, 'underpriced'), stated: true }
    let slot = liveSlot({ attempts: [a1, a2] })
    for (const replacementRejections of [1, 2, 3]) {
      const taken = on(slot, said)
      expect(taken).toMatchObject({ row: 17, actions: [{ do: 'bump', token: 1, replacementRejections }] })
      slot = taken.slot as Live
    }
    expect(on(slot, said).actions).toEqual([{ do: 'emit', event: 'displaced' }])
  })

  test('row 17: a price stated to the no-op of a displaced nonce causes no bump without a request', () => {
    const displaced = liveSlot({ attempts: [a1, noop], end: 'cancel', displaced: true })
    expect(on(displaced, { ...outcome(noop.hash, 'underpriced'), stated: true })).toEqual({
      row: 17,
      slot: displaced,
      actions: [],
    })
  })

  describe('row 35: the claim has executed at a nonce that it was bound to before', () => {
    const elsewhere = (claim: string) => ({ type: 'executedElsewhere', claim, token: 6 }) as const

    test('live: a no-op voids it here, since its bytes may still land', () => {
      expect(on(liveSlot({ claims: ['a', 'b'], committing: 1 }), elsewhere('b'))).toEqual({
        row: 35,
        slot: liveSlot({ claims: ['a'], end: 'void', token: 6, committing: 1, settledBefore: true }),
        actions: [{ do: 'noop', token: 6 }],
      })
    })

    test('live with an end: the requested no-op voids it, and no event is emitted for the claim here', () => {
      expect(on(liveSlot({ end: 'cancel' }), elsewhere('a'))).toEqual({
        row: 35,
        slot: liveSlot({ claims: [], end: 'cancel', settledBefore: true }),
        actions: [],
      })
    })

    test('reserved: the nonce is free if nothing is journaled; with a commit under way a no-op uses it up', () => {
      expect(on(reserved(), elsewhere('a'))).toEqual({
        row: 35,
        slot: { state: 'hole', nonce: 7, attempts: [] },
        actions: [],
      })
      expect(on(reserved({ committing: 1, attempts: [noop] }), elsewhere('a'))).toMatchObject({
        row: 35,
        slot: { state: 'live', claims: [], end: 'void', token: 6, committing: 1, settledBefore: true },
        actions: [{ do: 'noop', token: 6 }],
      })
    })

    test.each([
      ['alone', ['a']],
      ['with its replacement', ['a', 'b']],
    ])('one of its attempts in a block here takes it back, %s', (_, claims) => {
      const slot = on(liveSlot({ claims, attempts: [a1, noop] }), elsewhere('a')).slot as Live
      const sealed = { type: 'sealed', hash: a1.hash, block: block(12) } as const
      expect(on(slot, sealed)).toMatchObject({
        row: 24,
        slot: { state: 'used', claims, by: { kind: 'claim', claim: 'a', hash: a1.hash } },
        actions: [{ do: 'emit', event: 'corrected' }, ...claims.map((claim) => ({ do: 'reclaim', claim }))],
      })
      expect(on(slot, { ...sealed, hash: noop.hash }).slot).toMatchObject({ by: { kind: 'noop' } })
    })

    test('a claim that is not bound here is not affected', () => {
      for (const slot of [liveSlot(), reserved(), reserved({ committing: 1 })])
        expect(on(slot, elsewhere('c'))).toMatchObject({ row: 0, slot })
    })
  })

  describe('rows 24 to 26: a commit under way when the nonce is used', () => {
    test('stays under way, so the absence of attempts proves nothing', () => {
      const slot = liveSlot({ committing: 1, attempts: [], claims: [], end: 'void' })
      for (const event of [
        { type: 'sealed', hash: hash('stranger'), block: block(10) },
        { type: 'evidence', hash: hash('stranger'), block: block(10) },
        { type: 'passed' },
      ] as const)
        expect(on(slot, event).slot).toMatchObject({ state: 'used', committing: 1 })
      const used = on(slot, { type: 'evidence', hash: hash('stranger'), block: block(10) }).slot
      expect(on(used, { type: 'left', block: block(10), token: 6 }).slot).toMatchObject({
        state: 'live',
        committing: 1,
      })
      expect(on(used, { type: 'notCommitted' }).slot).toMatchObject({ state: 'used', committing: 0 })
    })
  })

  describe('row 16: the node requires more than the ceiling', () => {
    const beyond = { head: true, fillable: true, signer: true, token: 9 }
    const said = { ...outcome(a1.hash, 'feeTooLow'), beyond }
    const twice = { ...a1, sends: 2 }

    test('sends the same bytes once more, to another endpoint, without a bump', () => {
      expect(on(liveSlot(), said)).toEqual({ row: 16, slot: liveSlot(), actions: [backOff('a1')] })
    })

    test('row 20: after a second refusal it is voided if a no-op gets in', () => {
      const taken = on(liveSlot({ attempts: [twice] }), said)
      expect(taken).toMatchObject({ row: 20, slot: { end: 'void', token: 9 } })
      expect(taken.actions).toEqual([
        { do: 'emit', event: 'feeCeiling' },
        { do: 'noop', token: 9 },
      ])
    })

    test.each([
      ['no no-op gets in', [twice], { ...beyond, fillable: false }],
      ['it is not the head', [twice], { ...beyond, head: false }],
      ['nobody signs', [twice], { ...beyond, signer: false }],
      [
        'an older attempt was accepted',
        [
          { ...a1, accepted: true },
          { ...a2, sends: 2 },
        ],
        beyond,
      ],
    ] as const)('not voided if %s: it waits, and reports that once', (_, attempts, over) => {
      const event = { ...outcome((attempts.at(-1) as Attempt).hash, 'feeTooLow'), beyond: over }
      const taken = on(liveSlot({ attempts }), event)
      expect(taken).toMatchObject({ row: 16, slot: { end: undefined, resentSinceSigned: true } })
      expect(taken.actions).toEqual([{ do: 'emit', event: 'feeCeiling' }])
      expect(on(taken.slot, event).actions).toEqual([])
    })

    test('an ended slot keeps its end, and is not voided a second time', () => {
      for (const end of ['cancel', 'void'] as const) {
        const slot = liveSlot({ attempts: [a1, { ...noop, sends: 2 }], end })
        const taken = on(slot, { ...said, hash: noop.hash })
        expect(taken).toMatchObject({ row: 16, slot: { end, token: slot.token } })
        expect(taken.actions).toEqual([{ do: 'emit', event: 'feeCeiling' }])
      }
    })
  })

  describe('row 19: sped up by a caller with named fees', () => {
    const spedUp = { type: 'speedUp', named: true, token: 9 } as const

    test('a transaction that the lane gave up is wanted again: its bytes outbid the no-op', () => {
      const given = liveSlot({ end: 'void', token: 4, attempts: [a1, noop] })
      const taken = on(given, spedUp)
      expect(taken).toMatchObject({ row: 19, slot: { end: undefined, token: 9 } })
      expect(taken.actions).toEqual([{ do: 'sign', claim: 'a', token: 9 }])
    })

    test('with no no-op in the store yet the claim is bumped, and the no-op being signed is stale', () => {
      const taken = on(liveSlot({ end: 'void', token: 4 }), spedUp)
      expect(taken.actions).toEqual([{ do: 'bump', token: 9, replacementRejections: 0 }])
      expect(on(taken.slot, { type: 'committing', token: 4, claim: undefined }).row).toBe(0)
    })

    test.each([
      ['a cancel', liveSlot({ end: 'cancel', attempts: [a1, noop] }), spedUp],
      ['a deep reorg', liveSlot({ end: 'void', settledBefore: true, attempts: [a1, noop] }), spedUp],
      ['no caller, as for a gap,', liveSlot({ claims: [], end: 'void', attempts: [noop] }), spedUp],
      [
        'the lane, without fees',
        liveSlot({ end: 'void', attempts: [a1, noop] }),
        { ...spedUp, named: false },
      ],
    ])('a slot ended by %s stays ended', (_, slot, event) => {
      const taken = on(slot, event)
      expect(taken.slot).toMatchObject({ end: slot.end })
      expect(taken.actions).toEqual([{ do: 'bump', token: slot.token, replacementRejections: 0 }])
    })
  })

  test('row 17: a displaced nonce is outbid on request', () => {
    expect(on(liveSlot({ displaced: true }), { type: 'speedUp', named: false, token: 9 })).toEqual({
      row: 17,
      slot: liveSlot(),
      actions: [{ do: 'bump', token: 1, replacementRejections: 0 }],
    })
  })
})
