import { type Book, createBook } from './book.js'
import { attempt, block, hash } from './samples.fixture.js'

/** Reserves the nonce for a transaction named after it, and journals its first attempt. */
export function send(book: Book, nonce: number): void {
  reserve(book, nonce)
  book.apply(nonce, { type: 'journaled', token: nonce, attempt: attempt(`t${nonce}`, `h${nonce}`) })
}

export function reserve(book: Book, nonce: number): void {
  book.apply(nonce, { type: 'reserve', claim: `t${nonce}`, token: nonce })
}

export const seal = (book: Book, nonce: number, number: number) =>
  book.apply(nonce, { type: 'sealed', hash: hash(`h${nonce}`), block: block(number) })

export const leave = (book: Book, nonce: number, number: number) =>
  book.apply(nonce, { type: 'left', block: block(number), token: 99 })

export const withdraw = (book: Book, nonce: number) =>
  book.apply(nonce, { type: 'withdraw', claim: `t${nonce}`, why: 'again' })

/** A book whose lane has sent at each of these nonces. */
export function started(...nonces: number[]): Book {
  const book = createBook({ floor: 5 })
  for (const nonce of nonces) send(book, nonce)
  return book
}

/** Gives the verdict and makes the nonce final: the block that used it is beyond every reorg. */
export function finish(book: Book, nonce: number): void {
  book.apply(nonce, { type: 'lossDepth' })
  book.apply(nonce, { type: 'horizon' })
}
