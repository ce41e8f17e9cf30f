import fc from 'fast-check'
import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { type Book, createBook } from './book.js'
import type { SlotEvent } from './event.js'
import { attempt, block, hash } from './samples.fixture.js'
import { awaitsCommit, concernsCaller, isBound, isSameRecord, isUnsent, isUsed, type Slot } from './slot.js'
import { transition } from './transition.js'

const SEED_FLOOR = 5
const NONCES = [4, 5, 6, 7]

/** The same lane without any shortcut: it keeps every slot and looks everything up again each time. */
class Naive {
  readonly slots = new Map<number, Slot>()
  base = SEED_FLOOR
  count = SEED_FLOOR

  used(nonce: number): boolean {
    const slot = this.slots.get(nonce)
    return slot === undefined ? nonce < this.base : isUsed(slot)
  }

  raise(nonce: number): void {
    for (const [known, slot] of this.slots)
      if (known < nonce && slot.state === 'hole') this.slots.delete(known)
    this.base = Math.max(this.base, nonce)
  }

  get floor(): number {
    let floor = 0
    while (this.used(floor)) floor++
    return floor
  }

  get cursor(): number {
    let cursor = this.base
    for (const [nonce, slot] of this.slots) if (isBound(slot)) cursor = Math.max(cursor, nonce + 1)
    while (this.slots.get(cursor - 1)?.state === 'hole') cursor--
    return cursor
  }

  get coveredTo(): number {
    let covered = this.floor
    const seen = (slot: Slot | undefined) => slot?.state === 'live' && slot.preconfirmed !== undefined
    while (this.used(covered) || seen(this.slots.get(covered))) covered++
    return Math.max(covered, Math.min(this.count, this.cursor))
  }

  /** Bound by this lane, and never sent. */
  get unsent(): number[] {
    return this.where(isUnsent).filter((nonce) => nonce < this.cursor)
  }

  holes(): number[] {
    const free = (nonce: number) => !this.used(nonce) && !isBound(this.slots.get(nonce))
    return range(0, this.cursor).filter(free)
  }

  where(test: (slot: Slot) => boolean): number[] {
    return [...this.slots.values()]
      .filter(test)
      .map((slot) => slot.nonce)
      .sort((a, b) => a - b)
  }
}

const range = (from: number, to: number) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
const lowest = (found: number[]): number | undefined => found[0]

type Step = { nonce: number; event: SlotEvent } | { raise: number } | { count: number }

const nonceArbitrary = fc.constantFrom(...NONCES)
const numberArbitrary = fc.integer({ min: 20, max: 21 })

/** Mostly the usual events of a lane, so that sequences get far; the others are mixed in. */
const stepArbitrary: fc.Arbitrary<Step> = fc
  .tuple(nonceArbitrary, numberArbitrary, fc.integer({ min: 0, max: 25 }))
  .map(([nonce, number, kind]): Step => {
    const at = (event: SlotEvent): Step => ({ nonce, event })
    const own = hash(`h${nonce}`)
    const steps: (() => Step)[] = [
      () => at({ type: 'reserve', claim: `t${nonce}`, token: nonce }),
      () => at({ type: 'reserve', claim: `t${nonce}`, token: nonce }),
      () => at({ type: 'committing', token: nonce, claim: `t${nonce}` }),
      () => at({ type: 'journaled', token: nonce, attempt: attempt(`t${nonce}`, `h${nonce}`) }),
      () => at({ type: 'journaled', token: nonce, attempt: attempt(`t${nonce}`, `h${nonce}`) }),
      () => at({ type: 'journaled', token: 99, attempt: attempt(undefined, `n${nonce}`) }),
      () => at({ type: 'sent', hash: own }),
      () => at({ type: 'withdraw', claim: `t${nonce}`, why: 'again' }),
      () => at({ type: 'handOut' }),
      () => at({ type: 'released' }),
      () => at({ type: 'outsideCommitted', attempt: attempt(undefined, `o${nonce}`) }),
      () => at({ type: 'ttl', signer: true, token: 99 }),
      () => at({ type: 'gapTimer', boundAbove: true, waiting: false, token: 99 }),
      () => at({ type: 'outcome', hash: own, outcome: 'intrinsic', epoch: 1 }),
      () => at({ type: 'cancel', token: 99 }),
      () => at({ type: 'preconfirmed', hash: own, blockNumber: number }),
      () => at({ type: 'notPreconfirmed', blockNumber: number }),
      () => at({ type: 'sealed', hash: own, block: block(number) }),
      () => at({ type: 'sealed', hash: hash(`n${nonce}`), block: block(number) }),
      () => at({ type: 'evidence', block: block(number), hash: undefined }),
      () => at({ type: 'left', block: block(number), token: 99 }),
      () => at({ type: 'lossDepth' }),
      () => at({ type: 'horizon' }),
      () => at({ type: 'passed' }),
      () => ({ raise: nonce }),
      () => ({ count: nonce }),
    ]
    return (steps[kind] ?? steps[0])?.() as Step
  })

function take(book: Book, naive: Naive, step: Step): void {
  if ('raise' in step) {
    book.raise(step.raise)
    naive.raise(step.raise)
  } else if ('count' in step) {
    book.counted(step.count)
    naive.count = Math.min(step.count, naive.unsent[0] ?? step.count)
  } else {
    const { nonce, event } = step
    const command = event.type === 'reserve' || event.type === 'handOut'
    const free = !naive.used(nonce) && (naive.slots.get(nonce)?.state ?? 'hole') === 'hole'
    if (command && !free) {
      expect(() => book.apply(nonce, event)).toThrow('ledger: ')
      return
    }
    const before = naive.slots.get(nonce)
    const gone: Slot | undefined = naive.used(nonce) ? { state: 'final', nonce, attempts: [] } : undefined
    const { slot, row } = transition(nonce, before ?? gone, event)
    if (row !== 0 || before !== undefined) naive.slots.set(nonce, slot)
    book.apply(nonce, event)
    if (event.type === 'reserve') naive.count = Math.min(naive.count, nonce)
  }
}

function compare(book: Book, naive: Naive, stored: Map<number, Slot>): void {
  expect({
    floor: book.floor,
    cursor: book.cursor,
    coveredTo: book.coveredTo,
    hole: book.lowestHole(),
    uncommitted: book.lowestUncommitted(),
    unfinished: book.unfinished,
  }).toEqual({
    floor: naive.floor,
    cursor: naive.cursor,
    coveredTo: naive.coveredTo,
    hole: lowest(naive.holes()),
    uncommitted: lowest(naive.where(awaitsCommit)),
    unfinished: naive.where(isAnsweredFor).length,
  })
  compareIndexes(book, naive)
  for (const nonce of NONCES) compareSlot(book, naive, nonce)
  for (const slot of book.slots.values())
    expect(slot.state === 'final' && slot.nonce < book.floor).toBe(false)
  for (const slot of book.takeChanged()) {
    if (isGone(slot)) stored.delete(slot.nonce)
    else stored.set(slot.nonce, slot)
  }
  for (const nonce of NONCES) compareStored(stored.get(nonce), book.get(nonce))
}

const isGone = (slot: Slot) => slot.state === 'final' || (slot.state === 'hole' && slot.attempts.length === 0)

/** For each nonce, the journaled records equal the book, except for records that no process needs. */
function compareStored(stored: Slot | undefined, slot: Slot | undefined): void {
  const wanted = slot && !isGone(slot) ? slot : undefined
  if (wanted && isSameRecord(stored, wanted)) return
  expect(stored).toEqual(wanted)
}

function compareIndexes(book: Book, naive: Naive): void {
  const settled = (slot: Slot) => slot.state === 'used' && slot.settled
  for (const number of range(20, 22)) {
    const usedBy = (slot: Slot) => slot.state === 'used' && slot.at?.hash === block(number).hash
    expect([...book.usedIn(block(number).hash)].sort()).toEqual(naive.where(usedBy))
    const due = (slot: Slot) => slot.state === 'used' && !slot.settled && (slot.at?.number ?? 99) <= number
    expect(book.dueForVerdict(number)).toEqual(naive.where(due))
    const deep = (slot: Slot) => settled(slot) && slot.state === 'used' && (slot.at?.number ?? -1) <= number
    expect(book.dueForHorizon(number)).toEqual(naive.where(deep))
    const seen = (slot: Slot) => slot.state === 'live' && (slot.preconfirmed?.blockNumber ?? 99) <= number
    expect(book.preconfirmedUpTo(number)).toEqual(naive.where(seen))
  }
}

function compareSlot(book: Book, naive: Naive, nonce: number): void {
  const slot = naive.slots.get(nonce)
  const empty = slot?.state === 'final' || (slot?.state === 'hole' && slot.attempts.length === 0)
  if (!empty || book.get(nonce) !== undefined) expect(book.get(nonce)).toEqual(slot ?? book.get(nonce))
  for (const known of slot?.attempts ?? []) expect(book.nonceOf(known.hash as Hash)).toBe(nonce)
}

/** No caller waits for a nonce that concerned no caller. */
function isAnsweredFor(slot: Slot): boolean {
  const isNobodys = slot.state === 'used' && slot.by.kind === 'unproven' && !concernsCaller(slot)
  return slot.state !== 'hole' && slot.state !== 'final' && !isNobodys
}

test('after every event, the book equals a lane that looks everything up without shortcuts', () => {
  fc.assert(
    fc.property(fc.array(stepArbitrary, { maxLength: 80, size: 'max' }), (steps) => {
      const book = createBook({ floor: SEED_FLOOR })
      const naive = new Naive()
      const stored = new Map<number, Slot>()
      for (const step of steps) {
        take(book, naive, step)
        compare(book, naive, stored)
      }
    }),
    { numRuns: runsOf(300) },
  )
}, 60_000)
