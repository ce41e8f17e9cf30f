import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Transaction } from '../transaction/transaction.js'

export type EarlierEffectsContext = {
  readonly lane: Pick<Lane, 'book'>
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'tracker'>
}

/** Decides whether earlier transactions may still change the result of an estimate. */
export type EarlierEffects = {
  /** The conditions of the transaction are met by the state of this moment. */
  conditionsMet(transaction: Transaction): void
  estimateBegan(transaction: Transaction): void
  estimateEnded(transaction: Transaction): void
  /** Whether an earlier transaction, in flight or queued, may change the answer. */
  mayChange(transaction: Transaction): boolean
}

/** `isBehind`: whether another transaction without a nonce goes before this one. */
export function createEarlierEffects(
  { lane, endpointPool }: EarlierEffectsContext,
  isBehind: (transaction: Transaction) => boolean,
): EarlierEffects {
  const { book } = lane
  // The head at which the conditions of a transaction were met. A replica may lag behind the state that met
  // them.
  const metAt = new WeakMap<Transaction, number>()
  // Estimates under way. Transactions that wait for conditions are not included: they may wait for one of
  // these.
  const asking = new Set<Transaction>()
  // By transaction: the transactions below this nonce may change its estimate. Recorded once no queued
  // transaction goes before it.
  const changedBelow = new WeakMap<Transaction, number>()

  const headNumber = () => endpointPool.tracker.head?.number ?? 0

  /**
   * Whether its conditions were met by pre-confirmed state at most one block ago, which another replica may
   * not show yet.
   */
  function mayLag(transaction: Transaction): boolean {
    const met = metAt.get(transaction)
    return met !== undefined && headNumber() <= met + 1
  }

  return {
    conditionsMet(transaction) {
      const { pending } = endpointPool.reader.profile.current()
      if (pending === 'preconfirmed') metAt.set(transaction, headNumber())
    },
    estimateBegan: (transaction) => void asking.add(transaction),
    estimateEnded: (transaction) => void asking.delete(transaction),
    mayChange(transaction) {
      if (mayLag(transaction) || isBehind(transaction)) return true
      for (const one of asking) if (goesBefore(one, transaction)) return true
      const below = changedBelow.get(transaction) ?? book.cursor
      changedBelow.set(transaction, below)
      // The cursor falls when the highest nonce is given back.
      return book.coveredTo < Math.min(below, book.cursor)
    },
  }
}

function goesBefore(one: Transaction, other: Transaction): boolean {
  if (one.priority !== other.priority) return one.priority > other.priority
  return one.group === other.group && one.sequence < other.sequence
}
