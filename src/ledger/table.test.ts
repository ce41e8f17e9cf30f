import { describe, expect, test } from 'vitest'
import type { OutcomeKind, SlotAction, SlotEvent, Transition } from './event.js'
import * as sample from './samples.fixture.js'
import type { Attempt, End, Slot, UsedBy } from './slot.js'
import { TABLE } from './table.js'
import { transition } from './transition.js'

const { a1, a2, b1, noop, block, hash } = sample
const inherited = sample.attempt('a', 'a0', { epoch: 0, sends: 0 })
const dead = sample.attempt('x', 'x1')

const flags = [false, true]
const ends: (End | undefined)[] = [undefined, 'cancel', 'void']
const histories: readonly (readonly Attempt[])[] = [
  [],
  [a1],
  [{ ...a1, sends: 2 }],
  [{ ...a1, accepted: true }],
  [inherited],
  [a1, a2],
  [a1, b1],
  [a1, noop],
  [noop],
  [dead],
  [dead, a1],
]
const claimings: readonly (readonly string[])[] = [[], ['a'], ['a', 'b']]
const uses: readonly UsedBy[] = [
  { kind: 'claim', claim: 'a', hash: a1.hash },
  { kind: 'claim', claim: 'a', hash: undefined },
  { kind: 'noop', hash: noop.hash },
  { kind: 'other', hash: hash('f') },
  { kind: 'other', hash: undefined },
  { kind: 'unproven' },
]

/** Far more variants than a lane ever creates: the machine has to handle every one of them. */
function* slots(): Generator<Slot | undefined> {
  yield undefined
  yield { state: 'final', nonce: 7, attempts: [] }
  for (const attempts of histories) {
    yield { state: 'hole', nonce: 7, attempts }
    yield { state: 'outside', nonce: 7, attempts, origin: 'handedOut' }
    yield { state: 'outside', nonce: 7, attempts, origin: 'seeded' }
    for (const committing of [0, 1]) {
      yield sample.reserved({ attempts, committing })
      for (const end of ends)
        for (const claims of claimings) yield* bound({ attempts, committing, end, claims })
    }
  }
}

type Bound = Pick<Extract<Slot, { state: 'live' }>, 'attempts' | 'committing' | 'end' | 'claims'>

function* bound(over: Bound): Generator<Slot> {
  const preconfirmed = { hash: hash('a1'), blockNumber: 11 }
  for (const displaced of flags) {
    yield sample.liveSlot({ ...over, displaced })
    yield sample.liveSlot({
      ...over,
      displaced,
      resentSinceSigned: true,
      refusals: 3,
      replacementRejections: 3,
      preconfirmed,
    })
  }
  for (const by of uses) {
    if (by.kind === 'claim' && !over.claims.includes(by.claim)) continue
    const at = by.kind === 'unproven' ? undefined : block(10)
    yield sample.usedSlot(by, { ...over, at })
    if (by.kind !== 'unproven') yield sample.usedSlot(by, { ...over, at, settled: true })
  }
}

function* events(): Generator<SlotEvent> {
  const outcomes: OutcomeKind[] = [
    'accepted',
    'unknown',
    'intrinsic',
    'counted',
    'feeTooLow',
    'underpriced',
    'nonceTooLow',
    'refused',
  ]
  const seen = [a1, a2, b1, noop, dead, inherited].map((known) => known.hash).concat(hash('stranger'))
  yield { type: 'reserve', claim: 'c', token: 5 }
  for (const boundAbove of flags)
    for (const waiting of flags) yield { type: 'gapTimer', boundAbove, waiting, token: 5 }
  for (const token of [1, 5]) {
    for (const claim of ['a', 'b', undefined]) yield { type: 'committing', token, claim }
    for (const attempt of [a1, a2, b1, noop]) yield { type: 'journaled', token, attempt }
    yield { type: 'commitUnknown', token }
  }
  yield { type: 'notCommitted' }
  for (const claim of ['a', 'b', 'c']) {
    for (const why of ['failed', 'again'] as const) yield { type: 'withdraw', claim, why }
    for (const fate of ['executed', 'notExecuted'] as const) yield { type: 'resolve', claim, fate }
  }
  yield { type: 'seeded' }
  yield { type: 'handOut' }
  for (const attempt of [sample.attempt(undefined, 'o1'), sample.attempt('o', 'o2')])
    yield { type: 'outsideCommitted', attempt }
  yield { type: 'released' }
  for (const signer of flags) {
    yield { type: 'ttl', signer, token: 5 }
    for (const head of flags)
      for (const atCeiling of flags)
        for (const priced of flags)
          for (const fillable of flags) yield sample.stuck({ head, atCeiling, priced, fillable, signer })
  }
  for (const name of seen) {
    yield { type: 'sent', hash: name }
    for (const said of outcomes) for (const epoch of [1, 2]) yield sample.outcome(name, said, epoch)
    yield { ...sample.outcome(name, 'underpriced'), stated: true }
    for (const head of flags)
      for (const fillable of flags)
        for (const signer of flags)
          yield { ...sample.outcome(name, 'feeTooLow'), beyond: { head, fillable, signer, token: 5 } }
    yield { type: 'preconfirmed', hash: name, blockNumber: 11 }
    for (const walked of flags) yield { type: 'sealed', hash: name, block: block(12), walked }
  }
  yield { type: 'cancel', token: 5 }
  yield { type: 'replace', claim: 'c', token: 5 }
  for (const named of flags) yield { type: 'speedUp', named, token: 5 }
  for (const blockNumber of [11, 12]) yield { type: 'notPreconfirmed', blockNumber }
  for (const found of [hash('f'), undefined]) yield { type: 'evidence', block: block(12), hash: found }
  yield { type: 'passed' }
  for (const number of [10, 12]) {
    yield { type: 'left', block: block(number), token: 5 }
    yield { type: 'unwitnessed', block: block(number), token: 5 }
  }
  yield { type: 'refuted', token: 5 }
  for (const claim of ['a', 'b', 'c']) yield { type: 'executedElsewhere', claim, token: 5 }
  yield { type: 'lossDepth' }
  yield { type: 'horizon' }
}

type Taken = { slot: Slot | undefined; event: SlotEvent; result: Transition }

const commands: readonly SlotEvent['type'][] = ['reserve', 'handOut', 'replace']
const allEvents = [...events()]

/**
 * Built by the first test that needs them: a code change has to fail a test, not the loading of this file.
 */
const everything = once(() => {
  const taken: Taken[] = []
  for (const slot of slots()) {
    for (const event of allEvents) {
      try {
        taken.push({ slot, event, result: transition(7, slot, event) })
      } catch (error) {
        if (!commands.includes(event.type)) throw error
      }
    }
  }
  return taken
})

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const heldAgainstTable = once(() => {
  const reached = new Set<number>()
  const disagreements = new Set<string>()
  const careless = new Set<string>()
  for (const { slot, event, result } of everything()) {
    const say = `row ${result.row}: ${slot?.state ?? 'new'} on ${event.type} to ${result.slot.state}`
    if (result.row === 0) {
      const facts = ['sent', 'journaled', 'notCommitted', 'outsideCommitted']
      const kept = result.slot === slot || slot === undefined || facts.includes(event.type)
      if (!kept || result.actions.length > 0 || result.slot.state !== (slot?.state ?? 'hole'))
        careless.add(say)
      continue
    }
    reached.add(result.row)
    const row = TABLE.find((known) => known.row === result.row)
    const agrees =
      row?.from.includes(slot?.state ?? 'new') &&
      row.on.includes(event.type) &&
      row.to.includes(result.slot.state)
    if (!agrees) disagreements.add(say)
  }
  return { reached, disagreements, careless }
})

describe('the transition function and the table', () => {
  test('every step is in the table: from, event, to', () => {
    expect([...heldAgainstTable().disagreements]).toEqual([])
  })

  test('some step takes every row of the table', () => {
    const { reached } = heldAgainstTable()
    expect(TABLE.map(({ row }) => row).filter((row) => !reached.has(row))).toEqual([])
  })

  test('an observation without new information changes no state and requests nothing', () => {
    expect([...heldAgainstTable().careless]).toEqual([])
  })

  test('the rows are numbered 1 to 35, in order', () => {
    expect(TABLE.map(({ row }) => row)).toEqual(Array.from({ length: 35 }, (_, index) => index + 1))
  })

  test('every row describes its purpose in its own words', () => {
    const said = TABLE.map(({ says }) => says)
    expect(said.filter((says) => says.split(' ').length < 3)).toEqual([])
    expect(new Set(said).size).toBe(said.length)
  })

  test('an unknown state throws: a slot of a later version is never taken for used', () => {
    const unknown = { state: 'parked', nonce: 7, attempts: [] } as unknown as Slot
    expect(() => transition(7, unknown, { type: 'passed' })).toThrow(
      'unknown slot state {"state":"parked","nonce":7',
    )
  })

  test('a command to a nonce that cannot accept it is a bug, and throws', () => {
    const live = sample.liveSlot()
    expect(() => transition(7, live, { type: 'reserve', claim: 'c', token: 2 })).toThrow(
      'reserve on a live nonce 7',
    )
    expect(() => transition(7, live, { type: 'handOut' })).toThrow('handOut on a live nonce 7')
    expect(() => transition(7, undefined, { type: 'replace', claim: 'c', token: 2 })).toThrow(
      'replace on a hole',
    )
  })
})

describe('invariants at every step, for any slot and event', () => {
  const bytes = (slot: Slot | undefined): ReadonlySet<string> =>
    new Set(slot?.attempts.map((known) => known.hash))

  test('only row 33 drops attempts (P2)', () => {
    const lost = everything().filter(({ slot, result }) => {
      const after = bytes(result.slot)
      return result.row !== 33 && [...bytes(slot)].some((known) => !after.has(known))
    })
    expect(lost).toEqual([])
  })

  test('a requested end never changes, except by the operator (row 27), deep reorgs (row 32), and a caller who speeds up a claim that the lane gave up', () => {
    const end = (slot: Slot | undefined): End | undefined =>
      slot?.state === 'live' || slot?.state === 'used' ? slot.end : undefined
    const changed = everything().filter(({ slot, event, result }) => {
      const kept = result.slot.state === 'live' || result.slot.state === 'used'
      if (event.type === 'speedUp' && end(slot) === 'void') return !event.named && end(result.slot) !== 'void'
      return (
        kept && ![27, 32].includes(result.row) && end(slot) !== undefined && end(slot) !== end(result.slot)
      )
    })
    expect(changed).toEqual([])
  })

  test('a live nonce leaves its transaction by block contents, row 14 or row 6, never by an answer', () => {
    const freed = everything().filter(
      ({ slot, result }) => slot?.state === 'live' && result.slot.state !== 'live',
    )
    expect([...new Set(freed.map(({ result }) => result.row))].sort()).toEqual([14, 24, 25, 26])
  })

  test('bytes of a claim are neither bumped nor resent if the claim has an end and a no-op to send', () => {
    const wrong = everything().filter(({ result: { slot, actions } }) => {
      if (slot.state !== 'live' || slot.end === undefined) return false
      const newest = slot.attempts[slot.attempts.length - 1]
      return newest?.claim !== undefined && actions.some((action) => action.do === 'bump')
    })
    expect(wrong).toEqual([])
  })

  test('a transaction is queued again only if nothing of it was journaled, or by the verdict of row 31', () => {
    const rows = everything().filter(({ result }) =>
      result.actions.some((action) => action.do === 'queueAgain'),
    )
    expect([...new Set(rows.map(({ result }) => result.row))].sort()).toEqual([27, 31, 6, 7])
  })

  const claimsOf = (slot: Slot | undefined): readonly (string | undefined)[] => [
    ...(slot?.state === 'live' || slot?.state === 'used' ? slot.claims : []),
    ...(slot?.state === 'reserved' ? [slot.claim] : []),
    ...(slot?.attempts.map(({ claim }) => claim) ?? []),
  ]

  function namedBy({ slot, event }: Taken): ReadonlySet<string | undefined> {
    const attempt = 'attempt' in event ? event.attempt : undefined
    return new Set([...claimsOf(slot), 'claim' in event ? event.claim : undefined, attempt?.claim])
  }

  test('a slot claims only its earlier claims, the claim of the event, and the claims of its attempts', () => {
    const strange = everything().filter((taken) => {
      const { slot } = taken.result
      const named = namedBy(taken)
      const claims: readonly unknown[] = slot.state === 'live' || slot.state === 'used' ? slot.claims : []
      return claims.some((claim) => typeof claim !== 'string' || !named.has(claim))
    })
    expect(strange).toEqual([])
  })

  test('a slot has each of its bytes once, and only its earlier bytes and those of the event', () => {
    const strange = everything().filter(({ slot, event, result }) => {
      const brought = 'attempt' in event ? [event.attempt.hash] : []
      const known = new Set([...bytes(slot), ...brought])
      const { attempts } = result.slot
      return (
        bytes(result.slot).size < attempts.length || [...bytes(result.slot)].some((one) => !known.has(one))
      )
    })
    expect(strange).toEqual([])
  })

  /**
   * Every action is possible: its bytes exist, its transaction has the nonce, and its token is the present
   * one.
   */
  function canBeDone(taken: Taken, action: SlotAction): boolean {
    const { slot } = taken.result
    switch (action.do) {
      case 'resend':
      case 'broadcast':
      case 'backOff':
        return bytes(slot).has(action.hash)
      case 'sign':
        return (slot.state === 'reserved' || slot.state === 'live') && slot.token === action.token
      case 'noop':
        return slot.state === 'live' && slot.end !== undefined && slot.token === action.token
      case 'bump':
        return slot.state === 'live' && slot.token === action.token
      case 'queueAgain':
      case 'end':
      case 'landed':
      case 'reclaim':
        return namedBy(taken).has(action.claim)
      default:
        return ['emit', 'hold', 'findEvidence', 'readAgain', 'prune'].includes(action.do)
    }
  }

  test('every action is possible: its bytes exist, its token is the present one, and a no-op has an end', () => {
    const undone = everything().filter((taken) =>
      taken.result.actions.some((action) => !canBeDone(taken, action)),
    )
    expect(undone).toEqual([])
  })
})
