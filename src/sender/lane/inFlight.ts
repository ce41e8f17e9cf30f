import type { Book } from '../../ledger/book.js'
import { hasEnded } from '../../store/ended.js'
import { hasReached, type Transaction } from '../transaction/transaction.js'

/**
 * In flight is a nonce that was taken and that no sealed block has used: one definition for `snapshot()`, `health()`,
 * `inFlight()` and the metrics. What a sealed block has waits for its depth, and nothing has to be done for it.
 */
export function isInFlight(book: Book, nonce: number): boolean {
  const state = book.get(nonce)?.state
  return state === 'reserved' || state === 'live' || state === 'outside'
}

/** How many nonces are in flight. It costs as much as there are nonces above the floor. */
export function countInFlight(book: Book): number {
  let count = 0
  for (let nonce = book.floor; nonce < book.cursor; nonce++) if (isInFlight(book, nonce)) count++
  return count
}

/** For a process that does not hold the lane: the store names the nonce and the stage, and has no other use of it. */
export function isInFlightByStage(transaction: Transaction): boolean {
  const { nonce, stage, unresolved } = transaction
  return nonce !== undefined && !unresolved && !hasEnded(stage) && !hasReached(transaction, 'sealed')
}
