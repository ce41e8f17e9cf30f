import { expect, test } from 'vitest'
import type { Book } from './book.js'
import { seal, started } from './books.fixture.js'

/** A book with one settled nonce, all of which is in the store. */
function settled(): Book {
  const book = started(5)
  seal(book, 5, 10)
  book.apply(5, { type: 'lossDepth' })
  book.takeChanged()
  return book
}

test('a slot that is written off leaves the book, and its record stays in the store as it is', () => {
  const book = settled()
  book.apply(5, { type: 'horizon', record: 'unchanged' })
  expect([book.slots.has(5), book.finalTo, book.unfinished]).toEqual([false, 6, 0])
  expect(book.takeChanged()).toEqual([])
  book.pruneRecord(5)
  expect(book.takeChanged()).toMatchObject([{ state: 'final', nonce: 5 }])
})

test('a verdict that is not in the store yet is written with the whole record', () => {
  const book = started(5)
  seal(book, 5, 10)
  book.apply(5, { type: 'lossDepth' })
  book.apply(5, { type: 'horizon', record: 'unchanged' })
  const [slot] = book.takeChanged()
  expect(slot).toMatchObject({ state: 'used', settled: true, at: { number: 10 } })
  expect(slot?.attempts).toHaveLength(1)
})

test('a compact record has the block and the user of the nonce, and no bytes', () => {
  const book = settled()
  book.apply(5, { type: 'horizon', record: 'compact' })
  const by = { kind: 'claim', claim: 't5' }
  expect(book.takeChanged()).toMatchObject([
    { state: 'used', settled: true, at: { number: 10 }, by, attempts: [] },
  ])
})
