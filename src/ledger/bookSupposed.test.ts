import { describe, expect, test } from 'vitest'
import { createBook } from './book.js'
import { finish, reserve, seal, started } from './books.fixture.js'
import { HOLES_MAX } from './nonceRange.js'
import { a1, attempt, liveSlot } from './samples.fixture.js'

describe('nonces that other senders are supposed to have used', () => {
  test('begin at the base: a nonce below it is used and has no slot', () => {
    const book = createBook({ floor: 5 })
    expect(book.suppose(10)).toBe(true)
    const states = [3, 4, 5, 9, 10].map((nonce) => book.get(nonce)?.state)
    expect(states).toEqual([undefined, undefined, 'outside', 'outside', undefined])
  })

  test('count as unfinished from the base on, even if a bound nonce below holds the floor', () => {
    const book = started(5)
    book.raise(20)
    expect(book.suppose(25)).toBe(true)
    expect([book.floor, book.base, book.unfinished]).toEqual([5, 20, 1 + 5])
  })

  test('leave no slot when they are given back', () => {
    const book = createBook({ floor: 5 })
    book.suppose(10)
    // The caller's events for them are kept until then.
    for (const nonce of [6, 8]) book.apply(nonce, { type: 'released' })
    expect(book.get(8)?.state).toBe('hole')
    expect(book.suppose(6)).toBe(true)
    expect([book.cursor, book.supposedTo, book.slots.size]).toEqual([6, 6, 0])
  })

  test('are new again with the bytes that had been freed there, which may still land', () => {
    const book = createBook({ floor: 5 })
    book.restore({ state: 'hole', nonce: 7, attempts: [a1] })
    book.suppose(10)
    book.suppose(6)
    expect([book.cursor, book.get(7)]).toEqual([6, { state: 'hole', nonce: 7, attempts: [a1] }])
    expect(book.nonceOf(a1.hash)).toBe(7)
  })

  test('are given back in any number if no nonce above is bound; a hole among them binds nothing', () => {
    const book = createBook({ floor: 5 })
    book.suppose(2 * HOLES_MAX)
    book.apply(2 * HOLES_MAX - 9, { type: 'released' })
    expect(book.suppose(6)).toBe(true)
    expect([book.cursor, book.slots.size]).toEqual([6, 0])
  })

  test.each([
    ['as many as allowed', 5, 5 + HOLES_MAX, true],
    ['one more', 5, 6 + HOLES_MAX, false],
    ['a few, far up', 100_000, 100_003, true],
  ])('become holes below a bound nonce, up to a limit: %s', (_, from, to, given) => {
    const book = createBook({ floor: from })
    book.suppose(to)
    reserve(book, to)
    expect(book.suppose(from)).toBe(given)
    const after = given ? [from, from, to - from + 1] : [undefined, to, 1]
    expect([book.lowestHole(), book.supposedTo, book.slots.size]).toEqual(after)
  })
})

describe('skipped nonces', () => {
  test.each([
    ['as many as allowed', 5, 5 + HOLES_MAX, 'hole'],
    ['one more', 5, 6 + HOLES_MAX, 'outside'],
    ['a few, far up', 100_000, 100_002, 'hole'],
  ])('are holes up to a limit, and supposed to be used beyond it: %s', (_, from, nonce, state) => {
    const book = createBook({ floor: from })
    book.apply(nonce, { type: 'handOut' })
    expect(book.get(from)?.state).toBe(state)
    expect(book.lowestHole()).toBe(state === 'hole' ? from : undefined)
  })

  test('are holes again if their bytes were freed, although the cursor was below them in between', () => {
    const book = createBook({ floor: 5 })
    book.restore({ state: 'hole', nonce: 6, attempts: [a1] })
    expect([book.cursor, book.lowestHole()]).toEqual([5, undefined])
    for (const nonce of [8, 5]) reserve(book, nonce)
    expect(book.lowestHole()).toBe(6)
  })

  test('are new again, without a slot, if no nonce above is bound any more', () => {
    const book = createBook({ floor: 5 })
    book.apply(8, { type: 'handOut' })
    expect(book.slots.size).toBe(4)
    book.apply(8, { type: 'released' })
    expect([book.cursor, book.slots.size, book.get(6)]).toEqual([5, 0, undefined])
  })
})

describe('used nonces', () => {
  test('without a slot are crossed in one step, up to the next nonce with a slot', () => {
    const book = createBook({ floor: 12 })
    for (const nonce of [3, 7, 9]) book.restore(liveSlot({ nonce, attempts: [attempt('a', `h${nonce}`)] }))
    seal(book, 3, 20)
    expect(book.floor).toBe(7)
    seal(book, 9, 20)
    seal(book, 7, 21)
    expect(book.floor).toBe(12)
  })

  test('below a bound nonce are not among the uncovered ones', () => {
    const book = started(5)
    book.raise(20)
    expect(book.uncovered(10).map(({ nonce }) => nonce)).toEqual([5])
  })

  test('that are final are remembered until a lower count is confirmed', () => {
    const book = started(5, 6, 7)
    expect(book.finalTo).toBe(0)
    for (const nonce of [5, 6]) {
      seal(book, nonce, 20)
      finish(book, nonce)
    }
    expect(book.finalTo).toBe(7)
    book.lower(9)
    expect([book.finalTo, book.base, book.floor]).toEqual([7, 7, 7])
    book.lower(6)
    expect([book.finalTo, book.base, book.floor]).toEqual([6, 6, 6])
  })

  test('that are final in the store are used, and take no memory', () => {
    const book = createBook({ floor: 5 })
    book.restore({ state: 'final', nonce: 5, attempts: [] })
    expect([book.floor, book.cursor, book.slots.size, book.unfinished]).toEqual([6, 6, 0, 0])
  })
})
