import type { Tx } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import type { LaneSession } from '../session/laneSession.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import type { AdmissionListener } from './admissionListener.js'
import type { OwnedTransactions } from './ownedTransactions.js'

/** Queues and prepares the transactions that a leader admits. */
export function createLeaderListener(
  context: {
    readonly events: Emitter
    readonly session: Pick<LaneSession, 'attachSignal'>
    txOf(transaction: Transaction): Tx
  },
  parts: {
    readonly owned: Pick<OwnedTransactions, 'mark'>
    readonly queued: Set<Transaction>
    /** A transaction was persisted with this sequence number. */
    readonly kept: (sequence: number) => void
    /** Arms the caller's deadline. */
    readonly arm: (transaction: Transaction) => void
    readonly prepare: (transaction: Transaction) => void
    readonly ended: (transaction: Transaction) => void
    readonly onInDoubt: (id: string) => void
  },
): AdmissionListener {
  const { events, session } = context
  const { owned, queued, kept, arm, prepare, ended } = parts
  return {
    onAdmitting(transaction) {
      owned.mark(transaction)
      queued.add(transaction)
    },
    onAdmitted(transaction, { signal }) {
      kept(transaction.sequence)
      events.emit('queued', { tx: context.txOf(transaction) })
      if (!hasFailed(transaction)) arm(transaction)
      session.attachSignal(transaction, signal)
      if (!hasFailed(transaction)) prepare(transaction)
    },
    onRejected(transaction) {
      queued.delete(transaction)
      if (hasFailed(transaction)) ended(transaction)
    },
    onInDoubt: parts.onInDoubt,
  }
}
