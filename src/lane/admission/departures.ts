import type { Lane } from '../../allocator/lane.js'
import { unboundBy } from '../../ledger/slot.js'
import type { LaneKey, StoredTransaction } from '../../types/store.js'
import { stopTimers } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import { handedTo } from './handedTo.js'
import type { OwnedTransactions } from './ownedTransactions.js'

export type DeparturesContext = {
  readonly lane: Lane
  readonly changed: Set<Transaction>
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
}

/** Takes transactions out of the queue that need no nonce of this lane any more. */
export type Departures = {
  /** See `Intake`. */
  reclaim(transaction: Transaction, nonce: number): void
  /** Hands a queued transaction over to another lane of its pool, with the next write. */
  hand(transaction: Transaction, to: LaneKey): void
  /** The transaction belongs to another lane now. */
  left(transaction: Transaction): void
}

export function createDepartures(
  { lane, changed, handedOff }: DeparturesContext,
  parts: {
    readonly owned: Pick<OwnedTransactions, 'release'>
    /** Takes the transaction out of the queue. */
    readonly leave: (transaction: Transaction) => void
    /** Stops the preparation of the transaction. */
    readonly dropPreparation: (transaction: Transaction) => void
  },
): Departures {
  return {
    reclaim(transaction, nonce) {
      parts.leave(transaction)
      parts.dropPreparation(transaction)
      const { id: claim } = transaction
      for (const slot of unboundBy([...lane.book.slots.values()], nonce, claim))
        lane.apply(slot.nonce, { type: 'executedElsewhere', claim, token: lane.token() })
    },
    hand(transaction, to) {
      parts.leave(transaction)
      parts.dropPreparation(transaction)
      stopTimers(transaction)
      handedOff.set(transaction, handedTo(to, transaction))
      changed.add(transaction)
    },
    left(transaction) {
      handedOff.delete(transaction)
      parts.owned.release(transaction)
    },
  }
}
