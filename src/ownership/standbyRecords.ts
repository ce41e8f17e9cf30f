import { findByIds, LOOKUP_BATCH } from '../lane/admission/followStored.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import { fromStored } from '../lane/transaction/stored.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import { follow, reportUnresolved } from '../lane/transaction/transactionEvents.js'
import { hasEnded, UNSEALED } from '../store/ended.js'
import type { Stage } from '../types/index.js'
import type { LaneKey, Store, StoredTransaction } from '../types/store.js'

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

const PAGE = 500
/** Of the transactions in sealed blocks, only the newest have no verdict yet. */
const SEALED_MAX = 500

/** Reads a lane from the store for a process that does not own it. */
export type StandbyReader = {
  /** True once the lane was read for the first time. */
  readonly hasBegun: boolean
  /** Reads the changes since the last call. Resolves to true if there were any. */
  read(): Promise<boolean>
  /** The record of this transaction is read with the next call of `read`: it may be older than its handle. */
  readAgain(id: string): void
}

export function createStandbyReader(parts: {
  readonly store: Store
  readonly key: LaneKey
  readonly transactions: Map<string, Transaction>
  readonly records: StandbyRecords
  /** Aborted once the standby has ended. */
  readonly ended: AbortSignal
}): StandbyReader {
  const { store, key, transactions, records, ended } = parts
  const unread = new Set<string>()
  let revision: number | undefined

  /** Reads the open transactions of the lane, and those that this process knows. */
  async function begin(): Promise<number> {
    const now = await store.changes(key, 'now', 1)
    await findByIds(store, key, [...transactions.keys()], (stored) => {
      if (stored && !ended.aborted) records.learn(stored)
      return !ended.aborted
    })
    for (const stage of UNSEALED) await readListed(stage, Number.POSITIVE_INFINITY)
    await readListed('sealed', SEALED_MAX)
    return now.revision
  }

  async function readListed(stage: Stage, max: number): Promise<void> {
    let cursor: string | undefined
    for (let seen = 0; seen < max; ) {
      const page = await store.list([key], { stage, limit: PAGE, cursor })
      for (const stored of page.items) {
        records.note(stored)
        if (stored.pooled?.length && !transactions.has(stored.id)) records.learn(stored)
        if (stored.verdict === 'unresolved' && !transactions.has(stored.id)) records.track(fromStored(stored))
      }
      seen += page.items.length
      cursor = page.cursor
      if (cursor === undefined || ended.aborted) return
    }
  }

  async function readChanges(from: number): Promise<boolean> {
    let changed = false
    revision = from
    for (let more = true; more; ) {
      const page = await store.changes(key, revision, PAGE)
      if (ended.aborted) return changed
      for (const stored of page.transactions) records.learn(stored)
      revision = page.revision
      changed ||= page.transactions.length > 0
      more = page.transactions.length >= PAGE
    }
    return changed
  }

  /** Between two pages of changes: a record that is read here cannot be older than a change and be taken for newer. */
  async function readUnread(): Promise<void> {
    for (const id of unread) {
      const stored = await store.find(key, { id })
      if (ended.aborted) return
      if (stored) records.learn(stored)
      unread.delete(id)
    }
  }

  /** Another lane of the pool may have the transaction, and with it its changes. Each call looks some of them up. */
  async function readPooled(): Promise<void> {
    const queued = [...transactions.values()].filter((one) => one.record.pooled && one.stage === 'queued')
    const some = queued.slice(0, LOOKUP_BATCH).map(({ id }) => id)
    await findByIds(store, key, some, (stored, id) => {
      const transaction = transactions.get(id)
      if (ended.aborted || stored === undefined || transaction === undefined) return !ended.aborted
      // The next call begins with others.
      transactions.delete(id)
      transactions.set(id, transaction)
      records.learn(stored)
      return true
    })
  }

  return {
    get hasBegun() {
      return revision !== undefined
    },
    async read() {
      revision ??= await begin()
      await readUnread()
      const changed = await readChanges(revision)
      if (!changed && !ended.aborted) await readPooled()
      return changed
    },
    readAgain: (id) => void unread.add(id),
  }
}
