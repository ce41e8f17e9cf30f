import { describe, expect, test } from 'vitest'
import { type Book, createBook } from '../../ledger/book.js'
import { attempt, block } from '../../ledger/samples.fixture.js'
import type { LaneContext } from '../context.js'
import { acceptedTo, createDropWatch } from './drops.js'

/** Signed bytes are journaled at each of these nonces, and the node has answered with their hashes. */
function take(book: Book, from: number, to: number): void {
  for (let nonce = from; nonce < to; nonce++) {
    journal(book, nonce)
    book.apply(nonce, { type: 'outcome', hash: `0x${nonce}`, outcome: 'accepted', epoch: 1 })
  }
}

function journal(book: Book, nonce: number): void {
  const [claim, token] = [`t${nonce}`, nonce]
  book.apply(nonce, { type: 'reserve', claim, token })
  book.apply(nonce, { type: 'committing', claim, token })
  book.apply(nonce, { type: 'journaled', token, attempt: attempt(claim, String(nonce)) })
}

/** Ten nonces were taken; nothing was counted since. */
function watched() {
  const book = createBook({ floor: 0 })
  const told: string[] = []
  const window = {
    holds: (ahead: number) => void told.push(`holds ${ahead}`),
    takes: (ahead: number) => void told.push(`takes ${ahead}`),
  }
  const watch = createDropWatch({ lane: { book, window } } as unknown as LaneContext, {
    dropped: (nonce) => void told.push(`dropped ${nonce}`),
    send: (nonce) => void told.push(`send ${nonce}`),
  })
  take(book, 0, 10)
  watch.count(0, 0)
  told.length = 0
  /** What one reading of both counts leads to, beside that the window hears of it. */
  function count(latest: number, pending: number): string[] {
    watch.count(latest, pending)
    const [first, ...rest] = told.splice(0)
    expect(first).toBe(`holds ${pending - latest}`)
    return rest
  }
  return { book, count }
}

const SENT_AGAIN = ['takes 8', 'dropped 8', 'send 8', 'dropped 9', 'send 9']

describe('a count of the pool below what the node had taken', () => {
  test('read twice: what is above it was dropped, and is sent in order; what the pool holds is what it takes', () => {
    const { count } = watched()
    expect(count(0, 8)).toEqual([])
    expect(count(0, 8)).toEqual(SENT_AGAIN)
  })

  test('the room of a pool is what it holds above the account', () => {
    const { count } = watched()
    count(3, 8)
    expect(count(3, 8)[0]).toBe('takes 5')
  })

  test('once says nothing: a pool puts in order what it took a moment later', () => {
    const { count } = watched()
    expect(count(0, 8)).toEqual([])
    expect(count(0, 10)).toEqual([])
    expect(count(0, 8)).toEqual([])
  })

  test('teaches once, however long it stands there', () => {
    const { count } = watched()
    count(0, 8)
    expect(count(0, 8)).toEqual(SENT_AGAIN)
    for (let reading = 0; reading < 5; reading++) expect(count(0, 8)).toEqual([])
  })

  test('of what was taken later, two readings are needed anew', () => {
    const { book, count } = watched()
    count(0, 8)
    take(book, 10, 12)
    expect(count(0, 8)).toEqual(SENT_AGAIN)
    expect(count(0, 11)).toEqual([])
    expect(count(0, 11)).toEqual(['takes 11', 'dropped 11', 'send 11'])
  })

  test('says nothing of what was taken after it was asked for', () => {
    const { book, count } = watched()
    expect(count(0, 10)).toEqual([])
    take(book, 10, 14)
    expect(count(0, 10)).toEqual([])
    expect(count(0, 14)).toEqual([])
  })
})

test('a count of all that was taken, or more, is no drop', () => {
  for (const pending of [10, 11]) {
    const { count } = watched()
    for (let reading = 0; reading < 3; reading++) expect(count(0, pending)).toEqual([])
  }
})

test('a node whose `pending` is not above `latest` counts no pool: nothing was dropped', () => {
  const { count } = watched()
  for (let reading = 0; reading < 3; reading++) expect(count(4, 4)).toEqual([])
})

describe('acceptedTo', () => {
  test('ends at the first nonce that the node did not take', () => {
    const book = createBook({ floor: 2 })
    take(book, 2, 5)
    journal(book, 5)
    take(book, 6, 8)
    expect(acceptedTo(book, 100)).toBe(5)
    expect(acceptedTo(book, 4)).toBe(4)
    expect(acceptedTo(book, 100, 6)).toBe(8)
    expect(acceptedTo(createBook({ floor: 2 }), 100)).toBe(2)
  })

  test('goes on from what is known, but never below the floor', () => {
    const book = createBook({ floor: 2 })
    take(book, 2, 5)
    expect(acceptedTo(book, 100, 3)).toBe(5)
    expect(acceptedTo(book, 100, 5)).toBe(5)
    // Nothing is known of nonce 1, and all below the floor is used.
    expect(acceptedTo(book, 100, 1)).toBe(5)
  })

  test('a transaction that is in a block was taken, whoever sent it', () => {
    const book = createBook({ floor: 2 })
    journal(book, 2)
    journal(book, 3)
    take(book, 4, 5)
    book.apply(3, { type: 'evidence', block: block(7), hash: undefined })
    expect(acceptedTo(book, 100)).toBe(2)
    book.apply(2, { type: 'outcome', hash: '0x2', outcome: 'accepted', epoch: 1 })
    expect(acceptedTo(book, 100)).toBe(5)
  })
})
