import { describe, expect, test } from 'vitest'
import { type Book, createBook } from './book.js'
import { leave, reserve, seal, send, started, withdraw } from './books.fixture.js'
import { attempt, block, hash, liveSlot, outcome, reserved, usedSlot } from './samples.fixture.js'

describe('floor and cursor', () => {
  test('the floor is the lowest unused nonce, the cursor the next nonce to assign', () => {
    const book = started(5, 6, 7)
    expect([book.floor, book.cursor]).toEqual([5, 8])
    seal(book, 6, 20)
    expect(book.floor).toBe(5)
    seal(book, 5, 21)
    expect([book.floor, book.cursor]).toEqual([7, 8])
  })

  test('a reorg lowers the floor, which rises again over nonces that stayed used, pruned or not', () => {
    const book = started(5, 6, 7)
    for (const nonce of [5, 6, 7]) seal(book, nonce, 20 + nonce)
    book.apply(6, { type: 'lossDepth' })
    book.apply(6, { type: 'horizon' })
    leave(book, 5, 25)
    expect([book.floor, book.get(6)]).toEqual([5, undefined])
    seal(book, 5, 26)
    expect(book.floor).toBe(8)
  })

  test('the cursor falls below holes at the top (row 3), and keeps their attempts', () => {
    const book = started(5, 6)
    reserve(book, 7)
    book.apply(6, outcome(hash('h6'), 'intrinsic'))
    expect([book.cursor, book.lowestHole()]).toEqual([8, 6])
    withdraw(book, 7)
    expect([book.cursor, book.lowestHole()]).toEqual([6, undefined])
    reserve(book, 6)
    expect(book.get(6)).toMatchObject({ state: 'reserved', attempts: [{ hash: hash('h6') }] })
  })

  test('a nonce that a reorg gave back is new, not used, once it is released', () => {
    const book = createBook({ floor: 5 })
    book.apply(5, { type: 'handOut' })
    book.apply(5, { type: 'evidence', block: block(20), hash: undefined })
    expect(book.floor).toBe(6)
    leave(book, 5, 20)
    book.apply(5, { type: 'released' })
    expect([book.floor, book.cursor]).toEqual([5, 5])
    reserve(book, 5)
    expect(book.cursor).toBe(6)
  })

  test('skipped nonces are holes', () => {
    const book = createBook({ floor: 5 })
    book.apply(8, { type: 'handOut' })
    expect([book.cursor, book.lowestHole()]).toEqual([9, 5])
    reserve(book, 5)
    expect(book.lowestHole()).toBe(6)
  })

  test('a used nonce is never reserved or handed out', () => {
    const book = started(5)
    seal(book, 5, 20)
    book.apply(5, { type: 'lossDepth' })
    book.apply(5, { type: 'horizon' })
    expect(() => reserve(book, 5)).toThrow('reserve on a final nonce 5')
    expect(() => book.apply(4, { type: 'handOut' })).toThrow('handOut on a final nonce 4')
  })
})

test('a late observation does not bring back a nonce that was pruned or used before the start', () => {
  const book = started(5)
  seal(book, 5, 20)
  book.apply(5, { type: 'lossDepth' })
  book.apply(5, { type: 'horizon' })
  for (const nonce of [4, 5]) book.apply(nonce, { type: 'evidence', block: block(20), hash: undefined })
  expect([book.slots.size, book.unfinished]).toEqual([0, 0])
})

test('only bodies confirm nonces, without a gap; a count covers them and confirms none', () => {
  const book = started(5, 6, 7, 8)
  book.counted(8)
  expect([book.coveredTo, book.confirmedTo]).toEqual([8, 5])
  seal(book, 5, 20)
  book.apply(6, { type: 'preconfirmed', hash: hash('h6'), blockNumber: 21 })
  book.apply(8, { type: 'preconfirmed', hash: hash('h8'), blockNumber: 21 })
  expect([book.coveredTo, book.confirmedTo]).toEqual([8, 7])
  leave(book, 5, 20)
  expect(book.confirmedTo).toBe(5)
})

describe('lower', () => {
  test('a nonce that was believed used and has no slot may be unused again, and holds the floor', () => {
    const book = createBook({ floor: 5 })
    book.apply(5, { type: 'handOut' })
    book.lower(3)
    expect([book.floor, book.cursor, book.base]).toEqual([3, 6, 3])
    expect(book.uncovered(9).map(({ nonce }) => nonce)).toEqual([3, 4, 5])
  })

  test('a count that is not below the base changes nothing', () => {
    const book = createBook({ floor: 5 })
    book.lower(5)
    expect([book.base, book.floor, book.unfinished]).toEqual([5, 5, 0])
  })
})

describe('raise', () => {
  test('every nonce below is used, whatever its state was', () => {
    const book = createBook({ floor: 5 })
    book.apply(8, { type: 'handOut' })
    book.apply(8, { type: 'released' })
    book.raise(20)
    expect([book.floor, book.cursor, book.coveredTo, book.lowestHole()]).toEqual([20, 20, 20, undefined])
  })

  test('a bound nonce below holds the floor until the chain decides', () => {
    const book = started(5, 6)
    book.raise(20)
    expect([book.floor, book.cursor]).toEqual([5, 20])
    seal(book, 5, 30)
    book.apply(6, { type: 'passed' })
    expect(book.floor).toBe(20)
  })

  test('a slot restored from below the seeded floor is open, and the other nonces below stay used', () => {
    const book = createBook({ floor: 5 })
    book.restore(liveSlot({ nonce: 3 }))
    expect([book.floor, book.cursor]).toEqual([3, 5])
    book.apply(3, { type: 'evidence', block: block(9), hash: undefined })
    expect(book.floor).toBe(5)
  })
})

describe('covered', () => {
  test('a preconfirmed nonce counts only together with all nonces below it', () => {
    const book = started(5, 6, 7)
    book.apply(6, { type: 'preconfirmed', hash: hash('h6'), blockNumber: 30 })
    expect(book.coveredTo).toBe(5)
    book.apply(5, { type: 'preconfirmed', hash: hash('h5'), blockNumber: 30 })
    expect(book.coveredTo).toBe(7)
    book.apply(5, { type: 'notPreconfirmed', blockNumber: 30 })
    expect(book.coveredTo).toBe(5)
  })

  test('a mempool count covers nonces, never beyond the cursor, and may fall again', () => {
    const book = started(5, 6, 7)
    book.counted(7)
    expect(book.coveredTo).toBe(7)
    expect(book.uncovered(10).map((slot) => slot.nonce)).toEqual([7])
    book.counted(100)
    expect(book.coveredTo).toBe(8)
    book.counted(5)
    expect(book.uncovered(2).map((slot) => slot.nonce)).toEqual([5, 6])
  })

  test('a count covers no nonce that was reserved after it, and none that was not sent', () => {
    const book = started(5, 6)
    book.counted(100)
    reserve(book, 7)
    expect(book.coveredTo).toBe(7)
    book.counted(100)
    expect(book.coveredTo).toBe(7)
    const unsent = { ...attempt('t7', 'h7'), sends: 0 }
    book.apply(7, { type: 'journaled', token: 7, attempt: unsent })
    book.counted(100)
    expect(book.coveredTo).toBe(7)
    book.apply(7, { type: 'sent', hash: hash('h7') })
    book.counted(100)
    expect(book.coveredTo).toBe(8)
  })

  test('a count covers nonces that an earlier process may have sent, and nonces handed out', () => {
    const book = createBook({ floor: 5 })
    book.restore(liveSlot({ nonce: 5, claims: ['t5'], attempts: [{ ...attempt('t5', 'h5'), sends: 0 }] }))
    book.apply(6, { type: 'handOut' })
    book.counted(7)
    expect(book.coveredTo).toBe(7)
  })
})

describe('indexes', () => {
  test('the lowest reservation is known until it is journaled or withdrawn (P6)', () => {
    const book = createBook({ floor: 5 })
    for (const nonce of [5, 6, 7]) reserve(book, nonce)
    expect(book.lowestUncommitted()).toBe(5)
    withdraw(book, 5)
    expect(book.lowestUncommitted()).toBe(6)
    book.apply(6, { type: 'journaled', token: 6, attempt: attempt('t6', 'h6') })
    expect(book.lowestUncommitted()).toBe(7)
    reserve(book, 5)
    expect(book.lowestUncommitted()).toBe(5)
  })

  test('a nonce cancelled during its commit still awaits the commit of the no-op (P6, row 21)', () => {
    const book = createBook({ floor: 5 })
    for (const nonce of [5, 6]) reserve(book, nonce)
    book.apply(5, { type: 'committing', token: 5, claim: 't5' })
    expect(book.apply(5, { type: 'cancel', token: 8 }).row).toBe(21)
    expect(book.lowestUncommitted()).toBe(5)
    book.apply(5, { type: 'notCommitted' })
    expect(book.lowestUncommitted()).toBe(5)
    book.apply(5, { type: 'journaled', token: 8, attempt: { ...attempt('t5', 'n5'), claim: undefined } })
    expect(book.lowestUncommitted()).toBe(6)
  })

  test('the bytes of a freed nonce do not count as the bytes still to come (P6)', () => {
    const book = createBook({ floor: 5 })
    book.restore({ state: 'hole', nonce: 5, attempts: [attempt('t1', 'h1')] })
    book.restore(liveSlot({ nonce: 6 }))
    reserve(book, 5)
    book.apply(5, { type: 'committing', token: 5, claim: 't5' })
    book.apply(5, { type: 'cancel', token: 8 })
    expect(book.lowestUncommitted()).toBe(5)
  })

  test('uses are found by block hash for reorgs, and by number for the verdict and the horizon', () => {
    const book = started(5, 6, 7)
    seal(book, 5, 30)
    seal(book, 6, 30)
    seal(book, 7, 31)
    expect(book.usedIn(block(30).hash)).toEqual([5, 6])
    expect(book.dueForVerdict(30)).toEqual([5, 6])
    book.apply(5, { type: 'lossDepth' })
    expect(book.dueForVerdict(31)).toEqual([6, 7])
    expect(book.dueForHorizon(30)).toEqual([5])
    leave(book, 6, 30)
    expect(book.usedIn(block(30).hash)).toEqual([5])
  })

  test("a slot settled on an operator's word is unproven until a higher nonce is final", () => {
    const book = started(5, 6)
    book.apply(5, { type: 'passed' })
    expect(book.dueForVerdict(99)).toEqual([])
    book.apply(5, { type: 'resolve', claim: 't5', fate: 'executed' })
    expect([...book.unproven]).toEqual([5])
    expect(book.dueForHorizon(99)).toEqual([])
    seal(book, 6, 30)
    book.apply(6, { type: 'lossDepth' })
    expect(book.unfinished).toBe(1)
    book.apply(6, { type: 'horizon' })
    expect(book.dueForHorizon(30)).toEqual([5])
    book.apply(5, { type: 'horizon' })
    expect([book.unfinished, book.slots.size, book.unproven.size]).toEqual([0, 0, 0])
  })

  test('preconfirmed nonces are found by the number of the pending block', () => {
    const book = started(5, 6)
    book.apply(5, { type: 'preconfirmed', hash: hash('h5'), blockNumber: 30 })
    book.apply(6, { type: 'preconfirmed', hash: hash('h6'), blockNumber: 31 })
    expect(book.preconfirmedUpTo(30)).toEqual([5])
    seal(book, 5, 30)
    expect(book.preconfirmedUpTo(31)).toEqual([6])
  })
})

describe('stored records', () => {
  test('a final slot leaves neither the slot nor its hashes behind (P9)', () => {
    const book = started(5, 6)
    for (const nonce of [6, 5]) {
      seal(book, nonce, 30)
      book.apply(nonce, { type: 'lossDepth' })
      book.apply(nonce, { type: 'horizon' })
    }
    expect([book.slots.size, book.unfinished, book.nonceOf(hash('h5'))]).toEqual([0, 0, undefined])
    expect(book.takeChanged().map((slot) => slot.state)).toEqual(['final', 'final'])
  })

  test('an attempt is found by its hash, even after its nonce was freed', () => {
    const book = started(5, 6)
    book.apply(5, outcome(hash('h5'), 'intrinsic'))
    expect(book.nonceOf(hash('h5'))).toBe(5)
  })

  test('takes a changed slot once, and a hole that is gone as one without attempts', () => {
    const book = started(5)
    expect(book.takeChanged().map((slot) => slot.nonce)).toEqual([5])
    reserve(book, 6)
    withdraw(book, 6)
    expect(book.takeChanged()).toEqual([{ state: 'hole', nonce: 6, attempts: [] }])
    expect(book.takeChanged()).toEqual([])
  })

  test('omits a change that a later process learns by itself: a reservation, a send, an acceptance, a pre-confirmation', () => {
    const book = started(5)
    book.takeChanged()
    reserve(book, 6)
    book.apply(5, { type: 'sent', hash: hash('h5') })
    book.apply(5, outcome(hash('h5'), 'accepted'))
    book.apply(5, { type: 'preconfirmed', hash: hash('h5'), blockNumber: 30 })
    expect(book.takeChanged()).toEqual([])
    seal(book, 5, 30)
    expect(book.takeChanged().map((slot) => slot.state)).toEqual(['used'])
  })

  test('takes no slot that the store has as journaled; takes one that was found only in the store (row 5)', () => {
    const book = createBook({ floor: 5 })
    for (const [nonce, stored] of [
      [5, true],
      [6, false],
    ] as const) {
      reserve(book, nonce)
      const bytes = attempt(`t${nonce}`, `h${nonce}`)
      book.apply(nonce, { type: 'journaled', token: nonce, attempt: bytes, stored })
    }
    expect(book.takeChanged().map((slot) => slot.nonce)).toEqual([6])
  })

  test('restored slots give the same lane in any order, with no commit under way', () => {
    const book = started(5, 6)
    reserve(book, 7)
    send(book, 8)
    seal(book, 5, 30)
    withdraw(book, 7)
    const again = createBook({ floor: 5 })
    for (const slot of [...book.slots.values()].reverse()) again.restore(slot)
    const derived = (of: Book) => [of.floor, of.cursor, of.coveredTo, of.lowestHole(), of.unfinished]
    expect(derived(again)).toEqual(derived(book))
    again.restore(reserved({ nonce: 9, committing: 1 }))
    expect(again.get(9)).toMatchObject({ committing: 0 })
    again.restore(usedSlot({ kind: 'other', hash: undefined }, { nonce: 10, settled: true }))
    expect(again.dueForHorizon(10)).toEqual([10])
  })
})

describe('the preview of a journaled slot', () => {
  const event = { type: 'journaled', token: 5, attempt: attempt('t5', 'h5') } as const

  test('becomes the very same slot, and changes nothing before that', () => {
    const book = createBook({ floor: 5 })
    reserve(book, 5)
    const slot = book.previewCommit(5, event)
    expect(book.get(5)?.state).toBe('reserved')
    expect(book.apply(5, { ...event, stored: true })).toMatchObject({
      row: 4,
      actions: [{ do: 'broadcast' }],
    })
    expect(book.get(5)).toBe(slot)
  })

  test('is computed again if another event came in between, or other bytes were journaled', () => {
    const book = createBook({ floor: 5 })
    reserve(book, 5)
    book.apply(5, { type: 'committing', token: 5, claim: 't5' })
    book.previewCommit(5, event)
    book.apply(5, { type: 'cancel', token: 6 })
    book.apply(5, event)
    expect(book.get(5)).toMatchObject({ state: 'live', end: 'cancel', token: 6 })
    reserve(book, 6)
    book.previewCommit(6, { ...event, token: 6, attempt: attempt('t6', 'h6') })
    book.apply(6, { type: 'journaled', token: 6, attempt: attempt('t6', 'other') })
    expect(book.get(6)?.attempts).toMatchObject([{ hash: hash('other') }])
  })
})
