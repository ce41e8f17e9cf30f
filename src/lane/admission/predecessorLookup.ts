import type { Lane } from '../../allocator/lane.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { hasEnded } from '../../store/ended.js'
import type { Store } from '../../types/store.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'

export type PredecessorLookupContext = {
  readonly lane: Lane
  readonly store: Store
  readonly clock: Clock
  readonly errors: Repeats<Error>
  readonly transactions: ReadonlyMap<string, Transaction>
}

const LOOK_AGAIN_MS = 1_000

/** Returns the function that looks up, in the store, a predecessor that is not known here. */
export function createPredecessorLookup(
  context: PredecessorLookupContext,
  parts: {
    /** Whether the transaction still waits for the predecessor with this id. */
    readonly isWaiting: (transaction: Transaction, id: string) => boolean
    /** The predecessor has ended without execution. */
    readonly endedBefore: (transaction: Transaction, id: string) => void
    /** The predecessor has executed, or will. */
    readonly released: (transaction: Transaction) => void
  },
): (transaction: Transaction, id: string) => void {
  const { store, lane, clock, transactions } = context

  /**
   * The predecessor is not known here: it has ended, or is final. A caller may just be sending it again by its
   * id. That does not change its end, and emits no event about it.
   */
  async function look(transaction: Transaction, id: string): Promise<void> {
    const stored = await store.find(lane.key, { id })
    if (!parts.isWaiting(transaction, id)) return
    const before = transactions.get(id)
    const isGone = stored ? hasEnded(stored.stage) : before === undefined
    if (isGone || (before && hasFailed(before))) return parts.endedBefore(transaction, id)
    // The predecessor is about to arrive.
    if (stored === undefined || stored.stage === 'queued') return lookLater(transaction, id)
    parts.released(transaction)
  }

  function lookLater(transaction: Transaction, id: string): void {
    clock.setTimer(() => start(transaction, id), LOOK_AGAIN_MS)
  }

  function start(transaction: Transaction, id: string): void {
    void look(transaction, id).catch((error: unknown) => {
      reportError(context, error)
      lookLater(transaction, id)
    })
  }

  return start
}
