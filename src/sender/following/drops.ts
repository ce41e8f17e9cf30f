import type { Book } from '../../ledger/book.js'
import { newestAttempt } from '../../ledger/slot.js'
import type { LaneContext } from '../context.js'

/** What the node's count of its pool says of transactions that it had taken. */
export type DropWatch = {
  /** One reading of both counts of an endpoint that counts its pool. */
  count(latest: number, pending: number): void
}

/** A pool puts what it took in order a moment after its answer (geth `Add` with `sync` false): two readings agree. */
const READINGS = 2

/**
 * A node that answers with the hash and drops what its pool has no room for is known by its count: it stays below
 * nonces that the node had taken before it was asked. What it does hold then is what it takes at once.
 */
export function createDropWatch(
  context: LaneContext,
  told: {
    /** Its time begins anew. */
    readonly dropped: (nonce: number) => void
    /** Sent again in the order of the nonces, and not before the node has room for it. */
    readonly send: (nonce: number) => void
  },
): DropWatch {
  const { lane } = context
  const { book, window } = lane
  // What was taken when the reading before this one had come.
  let taken = 0
  // End of what is known to have been dropped: it teaches once.
  let knownTo = 0
  let short = 0

  return {
    count(latest, pending) {
      window.holds(pending - latest)
      const isShort = pending < taken && pending >= knownTo && pending > latest
      short = isShort ? short + 1 : 0
      if (short >= READINGS) {
        knownTo = taken
        short = 0
        window.takes(pending - latest)
        for (let nonce = pending; nonce < taken; nonce++) {
          told.dropped(nonce)
          told.send(nonce)
        }
      }
      taken = acceptedTo(book, Number.POSITIVE_INFINITY, taken)
    },
  }
}

/** Where the run of nonces ends that a node took, from the floor or `known` on, and no further than `limit`. */
export function acceptedTo(book: Book, limit: number, known = 0): number {
  for (let nonce = Math.max(book.floor, known); nonce < limit; nonce++) {
    const slot = book.get(nonce)
    const isTaken = slot?.state === 'used' || (slot?.state === 'live' && newestAttempt(slot)?.accepted)
    if (!isTaken) return nonce
  }
  return limit
}
