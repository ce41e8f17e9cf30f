import type { LaneWorker } from '../lane/engine/worker.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import { added } from '../lane/transaction/caller.js'
import { assertLaneOpen, createCancelOutcome } from '../lane/transaction/cancelOutcome.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import type { TxOperations } from '../lane/transaction/tx.js'
import { txError } from '../lane/transaction/txError.js'
import { rejectSenders } from '../lane/transaction/waiters.js'
import { storedReason } from '../lane/transaction/waitingFor.js'
import type { Fees } from '../ledger/fees.js'
import type { CancelResult } from '../types/index.js'
import type { LaneCommand } from '../types/store.js'

/** Serves callers that have a transaction of the lane: a standby posts commands, and the leader carries them out. */
export function createStandbyOperations(parts: {
  readonly session: LaneSession
  readonly add: LaneWorker['add']
  /** Resolves to false if the transaction has ended, or is not known. */
  readonly post: (id: string, command: LaneCommand) => Promise<boolean>
  /** True once this process owns the lane. */
  readonly isOver: () => boolean
  /** Resolves to false if the store does not know the transaction. */
  readonly readAgain: (transaction: Transaction) => Promise<boolean>
  readonly failed: (error: unknown) => void
}): TxOperations {
  const { session, post } = parts
  const cancelOutcome = createCancelOutcome(session)

  return {
    async cancel(transaction): Promise<CancelResult> {
      if (transaction.endPersisted || transaction.settled) return cancelOutcome.outcome(transaction)
      assertLaneOpen(transaction, session.closing)
      if (parts.isOver()) return session.operations!.cancel(transaction)
      const isPosted = await post(transaction.id, { kind: 'cancel' })
      if (!isPosted && !(await parts.readAgain(transaction))) {
        throw txError(transaction, 'STORE', 'inFlight', 'The store does not know it.')
      }
      return cancelOutcome.outcome(transaction)
    },
    replace: (transaction, request, options) => added(parts.add, request, options, { replaces: transaction }),
    async speedUp(transaction, wanted) {
      await post(transaction.id, { kind: 'speedUp', fees: wanted as Fees | undefined })
    },
    abort(transaction) {
      const message = 'It was aborted. The owner of the lane may have sent it.'
      rejectSenders(transaction, txError(transaction, 'ABORTED', 'inFlight', message))
      void post(transaction.id, { kind: 'abort' }).catch(parts.failed)
    },
    waitingFor: storedReason,
    // Only the leader may write.
    keep() {},
    /** The leader has the bytes. */
    raw: () => undefined,
  }
}
