import type { Lane } from '../../allocator/lane.js'
import type { Clock } from '../../platform/clock.js'
import { createPoller } from '../../platform/poller.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { hasEnded } from '../../store/ended.js'
import type { LaneCommand, Store, StoredTransaction } from '../../types/store.js'
import type { LaneSession } from '../session/laneSession.js'
import { refresh } from '../transaction/changes.js'
import { fromStored } from '../transaction/stored.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { follow } from '../transaction/transactionEvents.js'
import type { Admission } from './admission.js'

type InboxContext = {
  readonly lane: Lane
  readonly store: Store
  readonly admission: Admission
  readonly closed: boolean
}

/** Reads the transactions and commands that other processes wrote to the store for the owner of the lane. */
export type Inbox = {
  /**
   * This process stored the transaction with this sequence number itself. If it is the next one, it need not
   * be read.
   */
  own(sequence: number): void
  stop(): void
}

const PAGE = 500
const POLL_MS = 2_000

export function createInbox(
  context: InboxContext,
  options: {
    /** The highest sequence number that was read when the lane was opened. */
    readonly after: number
    /** Called before each read: the answer may be out of date by the time it is handled. */
    readonly asking: () => void
    readonly take: (stored: StoredTransaction) => Promise<void> | void
    readonly command: (id: string, command: LaneCommand) => void
    /** The commands up to this sequence number are done; the next write deletes them. */
    readonly done: { doneUpTo: number }
    readonly failed: (error: unknown) => void
    /** The clock for occasional polls, which must not keep the process alive. */
    readonly background: Clock
  },
): Inbox {
  const { store, lane, admission } = context
  let after = options.after
  const { done } = options
  const poller = createPoller({
    clock: () => options.background,
    everyMs: () => POLL_MS,
    read,
    failed: options.failed,
  })
  // The highest sequence number in a notification of the store; infinity if a notification had none.
  let notifiedUpTo = 0
  let isWaiting = false
  const unwatch = store.watch(lane.key, (sequence = Number.POSITIVE_INFINITY) => {
    notifiedUpTo = Math.max(notifiedUpTo, sequence)
    const { keeping } = admission
    if (keeping === undefined) return lookIfNew()
    // Transactions that this process is storing itself are known as soon as the store has answered.
    if (isWaiting) return
    isWaiting = true
    void keeping.then(() => {
      isWaiting = false
      lookIfNew()
    })
  })

  function lookIfNew(): void {
    if (notifiedUpTo <= after) return
    notifiedUpTo = 0
    poller.pollNow()
  }

  async function read(): Promise<void> {
    while (!context.closed && (await page())) {}
  }

  /** Reads one page. True if there may be more. */
  async function page(): Promise<boolean> {
    options.asking()
    const { transactions, commands } = await store.arrivals(lane.key, after, PAGE)
    if (context.closed) return false
    for (const stored of transactions) await options.take(stored)
    for (const { id, command } of commands) options.command(id, command)
    done.doneUpTo = Math.max(done.doneUpTo, commands.at(-1)?.sequence ?? 0)
    after = Math.max(after, transactions.at(-1)?.sequence ?? 0, commands.at(-1)?.sequence ?? 0)
    return transactions.length + commands.length >= PAGE
  }

  poller.pollNow()
  return {
    own(sequence) {
      if (sequence === after + 1) after = sequence
    },
    stop() {
      unwatch()
      poller.stop()
    },
  }
}

export type ArrivalsContext = {
  readonly lane: Lane
  readonly store: Store
  readonly session: LaneSession
  readonly clock: Clock
  readonly errors: Repeats<Error>
  readonly closed: boolean
}

/** Takes over the transactions that other processes stored for this lane. */
type Arrivals = {
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

const READ_AGAIN_MS = 1_000

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
      clock.setTimer(() => startReading(transaction), READ_AGAIN_MS)
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

const LOOK_UP_MS = 1_000

/**
 * Looks up transactions whose `enqueue` ended without a clear answer. The inbox skips arrivals that this
 * process is persisting at that moment, so if the answer is then lost, no other part would send the
 * transaction. The store is asked for one id at a time, and once a second while it does not answer.
 */
export function createDoubted(
  context: {
    readonly lane: Lane
    readonly store: Store
    readonly clock: Clock
    readonly closed: boolean
    readonly errors: Repeats<Error>
  },
  found: (stored: StoredTransaction) => Promise<void>,
): (id: string) => void {
  const { lane, store, clock } = context
  const ids = new Set<string>()

  async function look(): Promise<void> {
    for (const id of ids) {
      const stored = await store.find(lane.key, { id })
      ids.delete(id)
      if (stored?.lane.address === lane.key.address) await found(stored)
    }
  }

  function later(): void {
    clock.setTimer(() => {
      if (context.closed) return
      void look().catch((error: unknown) => {
        reportError(context, error)
        later()
      })
    }, LOOK_UP_MS)
  }

  return (id) => {
    if (ids.size === 0) later()
    ids.add(id)
  }
}

/**
 * The transactions that this intake works. Others in `transactions` are only known to a caller of this
 * process.
 */
export type OwnedTransactions = {
  mark(transaction: Transaction): void
  /** Marks the transaction, and makes it known by its id. */
  add(transaction: Transaction): void
  isOwn(transaction: Transaction): boolean
  /** Whether the record is of a transaction that the intake owns, or owned before the record was read. */
  has(stored: StoredTransaction): boolean
  /** The transaction has ended, or is final. */
  forget(transaction: Transaction): void
  /** The transaction belongs to another lane now. */
  release(transaction: Transaction): void
  /** The store is about to be read: its answer cannot be older than this moment. */
  asking(): void
}

export function createOwnedTransactions(transactions: Map<string, Transaction>): OwnedTransactions {
  const token = {}
  // Ids (with sequence numbers) that were forgotten since the last read of the store, whose answer may be
  // older.
  const forgotten = new Map<string, number>()

  function mark(transaction: Transaction): void {
    transaction.owner = token
  }

  return {
    mark,
    add(transaction) {
      mark(transaction)
      transactions.set(transaction.id, transaction)
    },
    isOwn: ({ owner }) => owner === token,
    has({ id, sequence }) {
      const here = transactions.get(id)
      // A transaction that was handed to another lane may come back with another sequence number.
      if ((forgotten.get(id) ?? -1) >= sequence) return true
      return here?.owner === token && !(hasFailed(here) && here.sequence < sequence)
    },
    forget(transaction) {
      if (transactions.get(transaction.id) !== transaction) return
      transactions.delete(transaction.id)
      forgotten.set(transaction.id, transaction.sequence)
    },
    release(transaction) {
      if (transaction.owner === token) transaction.owner = undefined
      forgotten.set(transaction.id, transaction.sequence)
    },
    asking: () => forgotten.clear(),
  }
}
