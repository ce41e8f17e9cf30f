import type { Lane } from '../../allocator/lane.js'
import { hasReached, type Transaction } from '../transaction/transaction.js'

/** The predecessors of transactions in a sequence, and whether a state shows their effects. */
export type PredecessorState = {
  /** The predecessor, if it is known here. */
  of(transaction: Transaction): Transaction | undefined
  /** Its predecessors that are not visible in any state yet, in their order. */
  before(transaction: Transaction): readonly Transaction[]
  /** Whether its predecessor is not visible in any state yet. */
  waits(transaction: Transaction): boolean
}

export function createPredecessorState(
  { book }: Pick<Lane, 'book'>,
  transactions: ReadonlyMap<string, Transaction>,
): PredecessorState {
  const of = ({ record: { needs } }: Transaction) =>
    needs?.follows === undefined ? undefined : transactions.get(needs.follows)

  /** Whether the state at `pending` includes its effects. */
  function isShown(transaction: Transaction): boolean {
    const { nonce } = transaction
    return hasReached(transaction, 'preconfirmed') || (nonce !== undefined && nonce < book.coveredTo)
  }

  return {
    of,
    before(transaction) {
      const found: Transaction[] = []
      for (let one = of(transaction); one !== undefined && !isShown(one); one = of(one)) found.push(one)
      return found.reverse()
    },
    waits(transaction) {
      const before = of(transaction)
      return before !== undefined && !isShown(before)
    },
  }
}
