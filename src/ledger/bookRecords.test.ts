import { describe, expect, test } from 'vitest'
import { createBook } from './book.js'
import { finish, reserve, seal, started, withdraw } from './books.fixture.js'
import { attempt, block, hash, liveSlot } from './samples.fixture.js'

describe('the open nonces of a book', () => {
  test('the uncovered nonces are those that may be sent again: live ones, and ones handed out', () => {
    const book = started(5, 6, 9)
    seal(book, 6, 20)
    reserve(book, 7)
    book.apply(10, { type: 'handOut' })
    const states = [5, 6, 7, 8, 9, 10].map((nonce) => book.get(nonce)?.state)
    expect(states).toEqual(['live', 'used', 'reserved', 'hole', 'live', 'outside'])
    expect(book.uncovered(10).map(({ nonce }) => nonce)).toEqual([5, 9, 10])
  })

  test('a count still covers bytes of an earlier process after its pre-confirmation was taken back', () => {
    const book = createBook({ floor: 5 })
    const before = { ...attempt('t5', 'h5'), sends: 0 }
    book.restore(liveSlot({ nonce: 5, claims: ['t5'], attempts: [before] }))
    book.apply(5, { type: 'preconfirmed', hash: before.hash, blockNumber: 20 })
    book.apply(5, { type: 'notPreconfirmed', blockNumber: 20 })
    book.counted(6)
    expect(book.coveredTo).toBe(6)
  })

  test("an operator's word becomes final with a higher nonce, not with a lower one", () => {
    const book = started(5, 6)
    book.apply(6, { type: 'passed' })
    book.apply(6, { type: 'resolve', claim: 't6', fate: 'executed' })
    seal(book, 5, 20)
    finish(book, 5)
    expect([book.finalTo, book.dueForHorizon(99)]).toEqual([6, []])
  })
})

describe('the changed records', () => {
  test('contain nothing if an observation brings no new information', () => {
    const book = started(5)
    book.apply(6, { type: 'handOut' })
    seal(book, 5, 20)
    expect(book.takeChanged().map(({ nonce }) => nonce)).toEqual([5, 6])
    for (const nonce of [5, 6]) book.apply(nonce, { type: 'left', block: block(9), token: 9 })
    expect(book.takeChanged()).toEqual([])
  })

  test('contain a hole if the lowest unused nonce was reserved in vain', () => {
    const book = createBook({ floor: 5 })
    reserve(book, 5)
    withdraw(book, 5)
    expect(book.takeChanged()).toEqual([{ state: 'hole', nonce: 5, attempts: [] }])
  })

  test('take the preview only under the same token, and discard bytes under an older one', () => {
    const book = createBook({ floor: 5 })
    reserve(book, 5)
    const event = { type: 'journaled', token: 5, attempt: attempt('t5', 'h5') } as const
    book.previewCommit(5, event)
    expect(book.apply(5, { ...event, token: 4 })).toMatchObject({ row: 0, actions: [] })
    expect([book.get(5)?.state, book.nonceOf(hash('h5'))]).toEqual(['reserved', undefined])
  })
})
