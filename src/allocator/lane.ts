import { Mutex } from 'async-mutex'
import type { Book } from '../ledger/book.js'
import type { SlotAction, SlotEvent, Transition } from '../ledger/event.js'
import type { Slot } from '../ledger/slot.js'
import type { Clock } from '../platform/clock.js'
import type { Turns } from '../platform/turns.js'
import { isReplaced } from '../store/replaced.js'
import type { HoldReason } from '../types/index.js'
import type { LaneKey, Lease, Store, StoredTransaction } from '../types/store.js'
import { createHolds, type Holds } from './holds.js'
import { createJournal, type Journal } from './journal.js'

/** The functions that a lane needs from its owner. */
export type LaneDuties = {
  /** Performs the actions of the table. Called in the order of the transitions. */
  perform(nonce: number, actions: readonly SlotAction[], slot: Slot): void
  /** A slot has changed, and not only in the table's own counters. */
  moved(nonce: number, before: Slot | undefined, after: Slot): void
  held(reason: HoldReason, held: boolean, detail?: string): void
  changedTransactions(): readonly StoredTransaction[]
  /** Remote commands of other processes up to this one are done. */
  commandsDoneUpTo?(): number
  failed(error: unknown): void
  /** More nonces are covered than before: there may be room again. */
  covered?(): void
  /** Another process owns the lease. */
  lost?(): void
  /** A row of the table was taken: for statistics. */
  readonly took?: ((row: number) => void) | undefined
}

/** The book lowers the cursor by itself, as soon as no nonce above a hole is bound. */
const CURSOR_DOWN_ROW = 3

/** The nonces of one account on one chain: the book, the mutex around it, the journal and the holds. */
export type Lane = {
  readonly key: LaneKey
  readonly lease: Lease
  readonly book: Book
  readonly holds: Holds
  readonly journal: Journal
  /** A new, unique number: it identifies the bytes to be signed, so that late bytes are recognised. */
  token(): number
  /** Passes an event through the table, then has its actions performed. */
  apply(nonce: number, event: SlotEvent): Transition
  /** Runs under the lane's mutex: one reservation after the other, in the order of the calls. */
  exclusive<T>(work: () => T | Promise<T>): Promise<T>
  /**
   * Like `exclusive`, for synchronous work: runs at once if the mutex is free, since nothing can come in
   * between.
   */
  exclusiveNow(work: () => void): Promise<void> | undefined
  /** The lowest hole, otherwise the cursor. */
  next(): number
  /** The count of a node that counts its pool covers all nonces below it. */
  counted(count: number): void
  /** Call this after any change that may have covered more nonces. */
  noteCovered(): void
  stop(): void
}

export function createLane(options: {
  key: LaneKey
  lease: Lease
  book: Book
  store: Store
  clock: Clock
  turns: Pick<Turns, 'isSpent' | 'room'>
  duties: LaneDuties
  /** Tokens start above it: tokens of an earlier process must not be taken for ours. */
  tokenAbove: number
}): Lane {
  const { key, lease, book, store, clock, duties } = options
  let tokens = options.tokenAbove
  // Created on first use: an idle lane costs nothing.
  let mutex: Mutex | undefined
  let stopped = false
  let coveredTo = book.coveredTo

  const holds = createHolds(clock, duties.held)
  const journal = createJournal({
    store,
    lease,
    book,
    clock,
    turns: options.turns,
    begin: (nonce, token, claim) => apply(nonce, { type: 'committing', token, claim }).row === 4,
    notCommitted: (nonce) => void apply(nonce, { type: 'notCommitted' }),
    changedTransactions: duties.changedTransactions,
    commandsDoneUpTo: () => duties.commandsDoneUpTo?.() ?? 0,
    isSeeding: () => holds.has('seeding'),
    onUnknown(nonces) {
      holds.add('unknownCommit')
      for (const nonce of nonces) {
        const slot = book.get(nonce)
        if (slot?.state === 'reserved') apply(nonce, { type: 'commitUnknown', token: slot.token })
      }
    },
    onKnown: () => holds.lift('unknownCommit'),
    onError(error) {
      if (isReplaced(error)) holds.add('storeReplaced', error.shortMessage)
      duties.failed(error)
    },
    onLost: () => duties.lost?.(),
  })

  function apply(nonce: number, event: SlotEvent): Transition {
    const before = book.get(nonce)
    // The process that now owns the lane reads its slots from the store: the slots here are out of date.
    if (stopped) return { row: 0, slot: before ?? { state: 'hole', nonce, attempts: [] }, actions: [] }
    const { cursor } = book
    const result = book.apply(nonce, event)
    duties.took?.(result.row)
    if (book.cursor < cursor) duties.took?.(CURSOR_DOWN_ROW)
    if (result.slot !== before && !COUNTING.has(event.type)) duties.moved(nonce, before, result.slot)
    if (result.row !== 0 && !PASSING.has(event.type)) journal.touch()
    if (result.actions.length > 0) duties.perform(nonce, result.actions, result.slot)
    return result
  }

  function noteCovered(): void {
    const before = coveredTo
    coveredTo = book.coveredTo
    if (coveredTo > before) duties.covered?.()
  }

  return {
    key,
    lease,
    book,
    holds,
    journal,
    token: () => ++tokens,
    apply,
    exclusive(work) {
      mutex ??= new Mutex()
      return mutex.runExclusive(work)
    },
    exclusiveNow(work) {
      if (mutex?.isLocked()) return mutex.runExclusive(work)
      work()
      return undefined
    },
    next: () => book.lowestHole() ?? book.cursor,
    counted(count) {
      book.counted(count)
      noteCovered()
    },
    noteCovered,
    stop() {
      stopped = true
      journal.stop()
    },
  }
}

/**
 * Events whose result does not have to be written at once: it is in the store already, or it can be learned
 * again. It goes into the next write.
 */
const PASSING: ReadonlySet<SlotEvent['type']> = new Set([
  'reserve',
  'committing',
  'notCommitted',
  'journaled',
  'sent',
  'preconfirmed',
  'notPreconfirmed',
  'stuck',
])

/** Events that only change the table's own counters. */
const COUNTING: ReadonlySet<SlotEvent['type']> = new Set(['committing', 'notCommitted', 'sent'])
