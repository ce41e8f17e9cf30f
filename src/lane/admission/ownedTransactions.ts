import type { StoredTransaction } from '../../types/store.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'

/**
 * The transactions that this intake works. Others in `transactions` are only known to a caller of this
 * process.
 */
export type OwnedTransactions = {
  mark(transaction: Transaction): void
  /** Marks the transaction, and makes it known by its id. */
  add(transaction: Transaction): void
  isOwn(transaction: Transaction): boolean
  /** Whether the record is of a transaction that the intake owns, or owned before the record was read. */
  has(stored: StoredTransaction): boolean
  /** The transaction has ended, or is final. */
  forget(transaction: Transaction): void
  /** The transaction belongs to another lane now. */
  release(transaction: Transaction): void
  /** The store is about to be read: its answer cannot be older than this moment. */
  asking(): void
}

export function createOwnedTransactions(transactions: Map<string, Transaction>): OwnedTransactions {
  const token = {}
  // Ids (with sequence numbers) that were forgotten since the last read of the store, whose answer may be
  // older.
  const forgotten = new Map<string, number>()

  function mark(transaction: Transaction): void {
    transaction.owner = token
  }

  return {
    mark,
    add(transaction) {
      mark(transaction)
      transactions.set(transaction.id, transaction)
    },
    isOwn: ({ owner }) => owner === token,
    has({ id, sequence }) {
      const here = transactions.get(id)
      // A transaction that was handed to another lane may come back with another sequence number.
      if ((forgotten.get(id) ?? -1) >= sequence) return true
      return here?.owner === token && !(hasFailed(here) && here.sequence < sequence)
    },
    forget(transaction) {
      if (transactions.get(transaction.id) !== transaction) return
      transactions.delete(transaction.id)
      forgotten.set(transaction.id, transaction.sequence)
    },
    release(transaction) {
      if (transaction.owner === token) transaction.owner = undefined
      forgotten.set(transaction.id, transaction.sequence)
    },
    asking: () => forgotten.clear(),
  }
}
