import type { Book } from '../ledger/book.js'
import type { Attempt, Slot } from '../ledger/slot.js'
import { transition } from '../ledger/transition.js'
import type { LaneWrite, StoredTransaction } from '../types/store.js'

/** An attempt to be journaled. */
export type Commit = { readonly nonce: number; readonly token: number; readonly attempt: Attempt }

export type WriteSources = {
  readonly book: Book
  /** Transactions that changed since the last call. */
  readonly changedTransactions: () => readonly StoredTransaction[]
  /** Remote commands up to this one are done. */
  readonly commandsDoneUpTo: () => number
  /**
   * The lane's position is based on counts that are not believed yet: the store must not record it as known.
   */
  readonly isSeeding: () => boolean
}

/**
 * Collects the contents of the next write. The contents of a failed write go into the next one: no change may
 * be lost.
 */
export type JournalWrite = {
  /** Everything that changed since the last write, with these attempts journaled. */
  next(commits: readonly Commit[]): LaneWrite
  failed(write: LaneWrite): void
  succeeded(): void
}

export function createJournalWrite(sources: WriteSources): JournalWrite {
  const { book } = sources
  const carriedSlots = new Map<number, Slot>()
  const carriedTransactions = new Map<string, StoredTransaction>()

  function withCarried(changed: readonly StoredTransaction[]): readonly StoredTransaction[] {
    if (carriedTransactions.size === 0) return changed
    const transactions = new Map(carriedTransactions)
    for (const transaction of changed) transactions.set(transaction.id, transaction)
    return [...transactions.values()]
  }

  return {
    next(commits) {
      const slots = new Map(carriedSlots)
      for (const slot of book.takeChanged()) slots.set(slot.nonce, slot)
      for (const { nonce, token, attempt } of commits) {
        const event = { type: 'journaled', token, attempt } as const
        const changed = slots.get(nonce)
        // One write may contain several attempts of one nonce.
        const isAsNow = changed === undefined || changed === book.get(nonce)
        slots.set(nonce, isAsNow ? book.previewCommit(nonce, event) : transition(nonce, changed, event).slot)
      }
      return {
        slots: [...slots.values()],
        transactions: withCarried(sources.changedTransactions()),
        cursor: sources.isSeeding() ? 0 : book.cursor,
        commandsDoneUpTo: sources.commandsDoneUpTo(),
      }
    },
    failed(write) {
      for (const slot of write.slots) carriedSlots.set(slot.nonce, book.get(slot.nonce) ?? slot)
      for (const transaction of write.transactions) carriedTransactions.set(transaction.id, transaction)
    },
    succeeded() {
      carriedSlots.clear()
      carriedTransactions.clear()
    },
  }
}
