import type { Book } from '../../ledger/book.js'
import type { Transaction } from '../transaction/transaction.js'

/**
 * Something of it may be sent at another nonce than this one, where it was before: it lost the nonce, or ended there and
 * began anew under its id. What becomes of this nonce decides nothing of it then, unless its bytes execute here.
 */
export function isBoundElsewhere(
  book: Pick<Book, 'get'>,
  { id, nonce }: Pick<Transaction, 'id' | 'nonce'>,
  here: number,
): boolean {
  if (nonce === undefined || nonce === here) return false
  const slot = book.get(nonce)
  if (slot?.state === 'reserved') return slot.claim === id
  return slot?.state === 'live' && slot.claims.includes(id)
}
