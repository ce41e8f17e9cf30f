import { hasReached, type Transaction } from '../lane/transaction/transaction.js'
import type { Book } from '../ledger/book.js'
import type { Slot } from '../ledger/slot.js'
import { hasEnded } from '../store/ended.js'

/**
 * In flight is a nonce that was taken and that no sealed block has used: one definition for `snapshot()`, `health()`,
 * `inFlight()` and the metrics. What a sealed block has waits for its depth, and nothing has to be done for it.
 */
export function isInFlight(book: Book, nonce: number): boolean {
  return isOpen(book.get(nonce))
}

/** How many nonces are in flight. It costs as much as there are slots, however far apart the counts of a node are (P9). */
export function countInFlight(book: Book): number {
  const { floor, supposedTo } = book
  const supposedFrom = Math.max(book.base, floor)
  // What a count says to be in use has no slots of its own.
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

/** For a process that does not hold the lane: the store names the nonce and the stage, and has no other use of it. */
export function isInFlightByStage(transaction: Transaction): boolean {
  const { nonce, stage, unresolved } = transaction
  return nonce !== undefined && !unresolved && !hasEnded(stage) && !hasReached(transaction, 'sealed')
}
