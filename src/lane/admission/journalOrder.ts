import type { Lane } from '../../allocator/lane.js'
import type { Transaction } from '../transaction/transaction.js'

/** Lets successors wait until the bytes of their predecessor were handed to the journal. */
export type JournalOrder = {
  /** Whether the transaction has a nonce, but none of its bytes were handed to the journal. */
  isUnsent(transaction: Transaction): boolean
  /** Resolves when the transaction is not unsent any more. Undefined if it is not unsent now. */
  waitFor(transaction: Transaction): Promise<void> | undefined
  /** The bytes of a transaction with a successor were handed to the journal. */
  mark(id: string): void
  /** Resolves the waits for the transaction. */
  release(id: string): void
  /** The transaction is not reserved any more. */
  forget(id: string): void
}

export function createJournalOrder({ book }: Pick<Lane, 'book'>): JournalOrder {
  // Ids of reserved transactions whose bytes were handed to the journal.
  const handed = new Set<string>()
  // The waits for that, by the same id. A list, because an abandoned signature may still be under way, beside
  // the one for the next nonce.
  const waits = new Map<string, (() => void)[]>()

  function isUnsent({ id, nonce }: Transaction): boolean {
    const slot = nonce === undefined ? undefined : book.get(nonce)
    return slot?.state === 'reserved' && slot.claim === id && !handed.has(id)
  }

  return {
    isUnsent,
    waitFor(transaction) {
      if (!isUnsent(transaction)) return undefined
      const { id } = transaction
      return new Promise((resolve) => void waits.set(id, [...(waits.get(id) ?? []), resolve]))
    },
    mark: (id) => void handed.add(id),
    release(id) {
      const waiting = waits.get(id)
      if (waiting === undefined) return
      waits.delete(id)
      for (const resolve of waiting) resolve()
    },
    forget: (id) => void handed.delete(id),
  }
}
