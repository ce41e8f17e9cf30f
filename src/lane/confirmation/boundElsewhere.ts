import type { Book } from '../../ledger/book.js'
import type { Transaction } from '../transaction/transaction.js'

/**
 * Whether the transaction is bound to another nonce than this one. A transaction moves to another nonce where it lost the
 * first one, or where its id began anew after an end. The end of the first nonce then says nothing of the transaction,
 * unless its bytes execute there.
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
