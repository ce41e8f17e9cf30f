import { hasReached, type Transaction } from '../lane/transaction/transaction.js'
import type { Book } from '../ledger/book.js'
import type { Slot } from '../ledger/slot.js'
import { hasEnded } from '../store/ended.js'

/**
 * A nonce is in flight if it was taken and no sealed block has used it: one definition for `snapshot()`, `health()`,
 * `inFlight()` and the metrics. A nonce in a sealed block only waits for its depth.
 */
export function isInFlight(book: Book, nonce: number): boolean {
  return isOpen(book.get(nonce))
}

/** Counts the nonces in flight. The cost depends on the number of slots, not on the counts of a node (P9). */
export function countInFlight(book: Book): number {
  const { floor, supposedTo } = book
  const supposedFrom = Math.max(book.base, floor)
  // Nonces that only a count shows as used have no slots.
  let count = Math.max(0, supposedTo - supposedFrom)
  for (const slot of book.slots.values()) {
    if (slot.nonce >= supposedFrom && slot.nonce < supposedTo) count--
    if (slot.nonce >= floor && isOpen(slot)) count++
  }
  return count
}

function isOpen(slot: Slot | undefined): boolean {
  return slot?.state === 'reserved' || slot?.state === 'live' || slot?.state === 'outside'
}

/** The same for a standby, which knows the nonce and the stage from the store. */
export function isInFlightByStage(transaction: Transaction): boolean {
  const { nonce, stage, unresolved } = transaction
  return nonce !== undefined && !unresolved && !hasEnded(stage) && !hasReached(transaction, 'sealed')
}
