import type { LaneSession } from '../lane/session/laneSession.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import { follow } from '../lane/transaction/transactionEvents.js'
import { reportUnresolved } from '../lane/transaction/unresolved.js'
import { hasEnded, UNSEALED } from '../store/ended.js'
import type { StoredTransaction } from '../types/store.js'

/** The transactions of a lane as a process knows them that does not own the lane: from the records in the store. */
export type StandbyRecords = {
  /** How many transactions of the lane have no verdict yet, of any process. */
  readonly size: number
  /** True while one of them is in no sealed block. */
  readonly isAnyUnsealed: boolean
  /** This process added the transaction. */
  added(id: string): void
  /** The transaction went to another lane of this process. It had this place in the order of arrival here. */
  left(transaction: Pick<Transaction, 'id' | 'sequence'>): void
  /** Takes note of a record, also of a transaction that no caller of this process has. */
  note(stored: StoredTransaction): void
  /** Updates the transaction of a record, and notifies its waiters and listeners. */
  learn(stored: StoredTransaction): void
  /** A caller of this process has this transaction from now on. */
  track(transaction: Transaction): void
  /** Emits `unresolved` once for a transaction that needs an operator. The process that found it out may be gone. */
  alarm(transaction: Transaction): void
}

export function createStandbyRecords(session: LaneSession): StandbyRecords {
  const { key, transactions } = session
  // True for a transaction that is in no sealed block.
  const open = new Map<string, boolean>()
  const left = new Map<string, number>()
  // This process has emitted these while it owned the lane.
  const alarmed = new Set([...transactions.values()].filter((one) => one.unresolved).map(({ id }) => id))

  function note({ id, stage, verdict, sequence }: StoredTransaction): void {
    // The record is from before the transaction left.
    if ((left.get(id) ?? -1) >= sequence) return
    if (hasEnded(stage) || verdict !== undefined) open.delete(id)
    else open.set(id, UNSEALED.includes(stage))
  }

  function alarm(transaction: Transaction): void {
    const { id, unresolved } = transaction
    if (unresolved && !alarmed.has(id)) reportUnresolved(session, transaction)
    if (unresolved) alarmed.add(id)
    else alarmed.delete(id)
  }

  return {
    get size() {
      return open.size
    },
    get isAnyUnsealed() {
      return [...open.values()].includes(true)
    },
    added: (id) => void open.set(id, true),
    left({ id, sequence }) {
      left.set(id, sequence)
      open.delete(id)
    },
    note,
    learn(stored) {
      const known = transactions.get(stored.id)
      if (stored.lane.address !== key.address) {
        // A pool handed it to another of its lanes.
        open.delete(stored.id)
        if (known) session.handedOff?.add(known, stored)
        return
      }
      note(stored)
      const transaction = known ?? session.adopt(stored)
      if (transaction === undefined) return
      follow(session, transaction, stored)
      if (known === undefined) session.replayCallerRequests(transaction)
      alarm(transaction)
      if (hasEnded(transaction.stage)) transactions.delete(transaction.id)
    },
    track(transaction) {
      if (hasEnded(transaction.stage)) return
      transactions.set(transaction.id, transaction)
      alarm(transaction)
    },
    alarm,
  }
}
