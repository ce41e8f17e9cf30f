import { isTxlaneError } from '../errors/base.js'
import type { Book } from '../ledger/book.js'
import type { Attempt, Slot } from '../ledger/slot.js'
import { transition } from '../ledger/transition.js'
import type { Clock } from '../platform/clock.js'
import { queueMicro } from '../platform/microtask.js'
import type { Turns } from '../platform/turns.js'
import type { LaneWrite, Lease, Store, StoredTransaction } from '../types/store.js'

/**
 * The result of journaling an attempt. `found`: the answer to the write was lost, and the attempt was there
 * when the store was read again. `stale`: not written, because its token was no longer current.
 */
export type Committed = 'committed' | 'found' | 'stale'

export type Journal = {
  /**
   * Commits an attempt before its first byte leaves (P6). Attempts that arrive while a write is open share
   * the next one. `done` is called once the result is known, however long the store takes. It is a callback
   * and not a promise, because there is one for every attempt. It must not throw.
   */
  commit(nonce: number, token: number, attempt: Attempt, done: (result: Committed) => void): void
  /**
   * Writes the changes of the book or of transactions, then calls `done`. `begun` is called each time the
   * change is handed to the store: from then on the store may contain it, even if the journal stops before
   * the result is known.
   */
  touch(done?: () => void, begun?: () => void): void
  /** Resolves when nothing is left to write. */
  flushed(): Promise<void>
  stop(): void
}

type Item = Commit & { readonly done: (result: Committed) => void }

type Then = { readonly done: () => void; readonly begun: (() => void) | undefined }

export type JournalOptions = WriteSources &
  RereadOptions & {
    /** A write shares the turns of the event loop with the signatures before it. */
    readonly turns: Pick<Turns, 'isSpent' | 'room'>
    /** A commit begins (event `committing`). Returns false if the slot does not want the bytes any more. */
    readonly begin: (nonce: number, token: number, claim: string | undefined) => boolean
    /** The bytes are known not to be in the store (event `notCommitted`). */
    readonly notCommitted: (nonce: number) => void
    /**
     * `onUnknown`: the commit of these attempts failed with an unknown result (row 5). `onKnown`: the store
     * has been read again.
     */
    readonly onUnknown: (nonces: readonly number[]) => void
    readonly onKnown: () => void
  }

export function createJournal(options: JournalOptions): Journal {
  const { store, lease, turns } = options
  const write = createJournalWrite(options)
  const reread = createReread(options)
  let items: Item[] = []
  let thens: Then[] = []
  const idle: (() => void)[] = []
  let touched = false
  let running = false
  let stopped = false
  // Consecutive failed writes.
  let failures = 0

  function schedule(): void {
    if (running || stopped) return
    running = true
    // A microtask later: all attempts that are signed in the same turn share the write.
    queueMicro(() => void drain())
  }

  async function drain(): Promise<void> {
    while (!stopped && (items.length > 0 || touched)) {
      if (turns.isSpent()) await turns.room()
      await writeOnce()
    }
    running = false
    for (const done of idle.splice(0)) done()
  }

  async function writeOnce(): Promise<void> {
    const batch = items.filter((item) => begin(item) || drop(item))
    const after = thens
    items = []
    thens = []
    touched = false
    const change = write.next(batch)
    for (const { begun } of after) begun?.()
    try {
      await store.write(lease, change)
    } catch (error) {
      if (isLeaseLost(error)) return options.onLost()
      failures++
      options.onError(error)
      write.failed(change)
      thens = [...after, ...thens]
      touched = true
      await settleUnknown(batch)
      return
    }
    failures = 0
    write.succeeded()
    for (const item of batch) item.done('committed')
    for (const { done } of after) done()
  }

  const begin = ({ nonce, token, attempt }: Item) => options.begin(nonce, token, attempt.claim)

  /** Bytes signed under a stale token are discarded before they are journaled. */
  function drop(item: Item): false {
    item.done('stale')
    return false
  }

  /** Row 5: reads the store until the presence of the attempts is known. */
  async function settleUnknown(batch: readonly Item[]): Promise<void> {
    options.onUnknown(batch.map((item) => item.nonce))
    const found = await reread.hashes(failures)
    if (found === undefined) return
    for (const item of batch) {
      if (found.has(item.attempt.hash)) {
        item.done('found')
        continue
      }
      options.notCommitted(item.nonce)
      items.push(item)
    }
    options.onKnown()
  }

  return {
    commit(nonce, token, attempt, done) {
      items.push({ nonce, token, attempt, done })
      schedule()
    },
    touch(done, begun) {
      touched = true
      if (done) thens.push({ done, begun })
      schedule()
    },
    flushed() {
      if (!running) return Promise.resolve()
      return new Promise((resolve) => idle.push(resolve))
    },
    stop() {
      stopped = true
      reread.stop()
      for (const done of idle.splice(0)) done()
    },
  }
}

/** An attempt to be journaled. */
type Commit = { readonly nonce: number; readonly token: number; readonly attempt: Attempt }

/** The records that a journal writes. */
export type JournalBook = Pick<Book, 'takeChanged' | 'previewCommit' | 'get' | 'cursor'>

type WriteSources = {
  readonly book: JournalBook
  /** Transactions that changed since the last call. */
  readonly changedTransactions: () => readonly StoredTransaction[]
  /** Remote commands up to this one are done. */
  readonly commandsDoneUpTo: () => number
  /**
   * The lane's position is based on counts that are not believed yet: the store must not record it as known.
   */
  readonly isSeeding: () => boolean
}

/**
 * Collects the contents of the next write. The contents of a failed write go into the next one: no change may
 * be lost.
 */
type JournalWrite = {
  /** Everything that changed since the last write, with these attempts journaled. */
  next(commits: readonly Commit[]): LaneWrite
  failed(write: LaneWrite): void
  succeeded(): void
}

function createJournalWrite(sources: WriteSources): JournalWrite {
  const { book } = sources
  const carriedSlots = new Map<number, Slot>()
  const carriedTransactions = new Map<string, StoredTransaction>()

  function withCarried(changed: readonly StoredTransaction[]): readonly StoredTransaction[] {
    if (carriedTransactions.size === 0) return changed
    const transactions = new Map(carriedTransactions)
    for (const transaction of changed) transactions.set(transaction.id, transaction)
    return [...transactions.values()]
  }

  return {
    next(commits) {
      const slots = new Map(carriedSlots)
      for (const slot of book.takeChanged()) slots.set(slot.nonce, slot)
      for (const { nonce, token, attempt } of commits) {
        const event = { type: 'journaled', token, attempt } as const
        const changed = slots.get(nonce)
        // One write may contain several attempts of one nonce.
        const isAsNow = changed === undefined || changed === book.get(nonce)
        slots.set(nonce, isAsNow ? book.previewCommit(nonce, event) : transition(nonce, changed, event).slot)
      }
      return {
        slots: [...slots.values()],
        transactions: withCarried(sources.changedTransactions()),
        cursor: sources.isSeeding() ? 0 : book.cursor,
        commandsDoneUpTo: sources.commandsDoneUpTo(),
      }
    },
    failed(write) {
      for (const slot of write.slots) carriedSlots.set(slot.nonce, book.get(slot.nonce) ?? slot)
      for (const transaction of write.transactions) carriedTransactions.set(transaction.id, transaction)
    },
    succeeded() {
      carriedSlots.clear()
      carriedTransactions.clear()
    },
  }
}

type RereadOptions = {
  readonly store: Store
  readonly lease: Lease
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  /** The store reports that another process owns the lane's lease: nothing is written any more. */
  readonly onLost: () => void
}

/** Reads the store again after a write with an unknown result. */
type Reread = {
  /**
   * The hashes of all attempts in the store, read until the store answers. Undefined after `stop`.
   * `failures`: consecutive failed writes. They are spaced even if reads succeed while writes fail (a full
   * disk).
   */
  hashes(failures: number): Promise<ReadonlySet<string> | undefined>
  /** Ends a pause at once, so that the work under way finishes. */
  stop(): void
}

const RETRY_MS = [50, 100, 200, 400, 800, 1_600, 3_000] as const

function createReread({ store, lease, clock, onError, onLost }: RereadOptions): Reread {
  let stopped = false
  let wake: (() => void) | undefined

  function pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.setTimer(resolve, delayMs)
      wake = () => {
        cancel()
        resolve()
      }
    })
  }

  return {
    async hashes(failures) {
      for (let tries = failures - 1; !stopped; tries++) {
        await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 3_000)
        try {
          const { slots } = await store.load(lease)
          return new Set(slots.flatMap((slot) => slot.attempts.map((attempt) => attempt.hash)))
        } catch (error) {
          if (isLeaseLost(error)) onLost()
          else onError(error)
        }
      }
      return undefined
    },
    stop() {
      stopped = true
      wake?.()
    },
  }
}

function isLeaseLost(error: unknown): boolean {
  return isTxlaneError(error) && error.code === 'LEASE_LOST'
}
