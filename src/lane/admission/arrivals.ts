import type { Lane } from '../../allocator/lane.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { hasEnded } from '../../store/ended.js'
import type { Store, StoredTransaction } from '../../types/store.js'
import type { LaneSession } from '../session/laneSession.js'
import { refresh } from '../transaction/changes.js'
import { fromStored } from '../transaction/stored.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { follow } from '../transaction/transactionEvents.js'
import type { OwnedTransactions } from './ownedTransactions.js'

export type ArrivalsContext = {
  readonly lane: Lane
  readonly store: Store
  readonly session: LaneSession
  readonly clock: Clock
  readonly errors: Repeats<Error>
  readonly closed: boolean
}

/** Takes over the transactions that other processes stored for this lane. */
export type Arrivals = {
  /** Takes over a queued transaction. Does nothing if it is known already. */
  arrived(stored: StoredTransaction): Promise<void>
  /**
   * A caller of this process has the transaction, read as queued from the store. It arrives through the inbox,
   * or has arrived and ended.
   */
  trackFromStore(transaction: Transaction): void
  /** Takes over no more transactions. */
  close(): void
}

const LOOK_AGAIN_MS = 1_000

export function createArrivals(
  context: ArrivalsContext,
  parts: {
    readonly owned: OwnedTransactions
    /** Queues a transaction that arrived. `isNew`: no caller of this process has it. */
    readonly take: (transaction: Transaction, isNew: boolean) => void
    readonly forget: (transaction: Transaction) => void
  },
): Arrivals {
  const { lane, store, session, clock } = context
  const { transactions } = session
  const { owned } = parts
  let closed = false

  async function find(id: string): Promise<Transaction | undefined> {
    const here = transactions.get(id)
    if (here !== undefined) return here
    const stored = await store.find(lane.key, { id })
    return stored && fromStored(stored)
  }

  async function readStage(transaction: Transaction): Promise<void> {
    await lane.journal.flushed()
    const stored = await store.find(lane.key, { id: transaction.id })
    if (stored === undefined || owned.isOwn(transaction) || context.closed) return
    if (stored.lane.address !== lane.key.address) return session.handedOff?.add(transaction, stored)
    if (stored.stage === 'queued') return
    follow(session, transaction, stored)
    if (hasEnded(stored.stage)) parts.forget(transaction)
  }

  function startReading(transaction: Transaction): void {
    void readStage(transaction).catch((error: unknown) => {
      reportError(context, error)
      clock.setTimer(() => startReading(transaction), LOOK_AGAIN_MS)
    })
  }

  return {
    async arrived(stored) {
      if (stored.stage !== 'queued' || owned.has(stored)) return
      const replaces = stored.replaces === undefined ? undefined : await find(stored.replaces)
      if (closed || context.closed || owned.has(stored)) return
      // A caller of this process may have it already: from before the lane opened here, or from another lane.
      const former = transactions.get(stored.id)
      // If that one ended, another process has restarted the id, and this is another transaction.
      const here = former && !hasFailed(former) ? former : session.adopt(stored)
      const transaction = here ?? fromStored(stored)
      if (here) refresh(here, stored)
      transaction.replaces ??= replaces
      transaction.watchedRemotely = true
      parts.take(transaction, here === undefined)
    },
    trackFromStore(transaction) {
      transactions.set(transaction.id, transaction)
      startReading(transaction)
    },
    close() {
      closed = true
    },
  }
}
