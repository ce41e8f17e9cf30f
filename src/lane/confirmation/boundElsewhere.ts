import type { Book } from '../../ledger/book.js'
import type { Transaction } from '../transaction/transaction.js'

/**
 * Whether the transaction is bound to a nonce other than `here`. A transaction moves to another nonce if it
 * lost the first one, or if its id was reused after it ended. The end of the first nonce then says nothing
 * about the transaction, unless its bytes execute there.
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
