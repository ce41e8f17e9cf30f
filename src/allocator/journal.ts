import { isTxlaneError } from '../errors/base.js'
import type { Book } from '../ledger/book.js'
import type { Attempt, Slot } from '../ledger/slot.js'
import { transition } from '../ledger/transition.js'
import type { Clock } from '../platform/clock.js'
import { queueMicro } from '../platform/microtask.js'
import type { LaneWrite, Lease, Store, StoredTransaction } from '../types/store.js'

/**
 * What became of an attempt that was to be journaled. `found`: the write's answer was lost, and the attempt was there
 * when the store was read again. `stale`: not written, its token was not current any more.
 */
export type Committed = 'committed' | 'found' | 'stale'

export type Journal = {
  /**
   * Commits an attempt before its first byte leaves (P6). Attempts that arrive while a write is open share the
   * next one. `done` is told once it is known what happened, however long the store takes to say so: no promise, as
   * there is one for every attempt. Must not throw.
   */
  commit(nonce: number, token: number, attempt: Attempt, done: (result: Committed) => void): void
  /**
   * What changed in the book or in transactions is to be written; `done` runs once it is. `begun` runs each time the store
   * is asked for it: from then on it may be there, also where the journal stops before that is known.
   */
  touch(done?: () => void, begun?: () => void): void
  /** Resolves when nothing is left to write. */
  flushed(): Promise<void>
  stop(): void
}

type Item = {
  readonly nonce: number
  readonly token: number
  readonly attempt: Attempt
  readonly done: (result: Committed) => void
}

type Then = { readonly done: () => void; readonly begun: (() => void) | undefined }

export type JournalOptions = {
  readonly store: Store
  readonly lease: Lease
  readonly book: Book
  readonly clock: Clock
  /** A commit begins (event `committing`); false where the bytes are not what the slot wants any more. */
  readonly begin: (nonce: number, token: number, claim: string | undefined) => boolean
  /** It is known that the bytes are not in the store (event `notCommitted`). */
  readonly notCommitted: (nonce: number) => void
  /** Transactions that changed since the last call. */
  readonly changedTransactions: () => readonly StoredTransaction[]
  /** Wishes up to this one are done. */
  readonly wished: () => number
  /** Where the lane stands rests on counts that are not believed yet: the store must not take it for known. */
  readonly isSeeding: () => boolean
  /** The commit of these attempts failed with an unknown result (row 5), and: the store has been read again. */
  readonly onUnknown: (nonces: readonly number[]) => void
  readonly onKnown: () => void
  readonly onError: (error: unknown) => void
  /** The store says that another holder has the lane: nothing is written any more. */
  readonly onLost: () => void
}

const RETRY_MS = [50, 100, 200, 400, 800, 1_600, 3_000] as const

export function createJournal(options: JournalOptions): Journal {
  const { store, lease, book, clock } = options
  let items: Item[] = []
  let thens: Then[] = []
  const idle: (() => void)[] = []
  let touched = false
  let running = false
  let stopped = false
  let wake: (() => void) | undefined
  // Writes that failed in a row: where reading works and writing does not (a full disk), they are spaced all the same.
  let failures = 0
  // What a failed write held is written again with the next one: nothing that changed may be forgotten.
  const carriedSlots = new Map<number, Slot>()
  const carriedTransactions = new Map<string, StoredTransaction>()

  function schedule(): void {
    if (running || stopped) return
    running = true
    // A microtask later: whatever is signed in the same turn shares the write.
    queueMicro(() => void drain())
  }

  async function drain(): Promise<void> {
    while (!stopped && (items.length > 0 || touched)) await writeOnce()
    running = false
    for (const done of idle.splice(0)) done()
  }

  async function writeOnce(): Promise<void> {
    const batch = items.filter((item) => begin(item) || drop(item))
    const after = thens
    items = []
    thens = []
    touched = false
    const change = changeOf(batch)
    for (const { begun } of after) begun?.()
    try {
      await store.write(lease, change)
    } catch (error) {
      if (isLost(error)) return options.onLost()
      failures++
      options.onError(error)
      keepForLater(change)
      thens = [...after, ...thens]
      touched = true
      await settleUnknown(batch)
      return
    }
    failures = 0
    carriedSlots.clear()
    carriedTransactions.clear()
    for (const item of batch) item.done('committed')
    for (const { done } of after) done()
  }

  const begin = ({ nonce, token, attempt }: Item) => options.begin(nonce, token, attempt.claim)

  /** Bytes signed under a stale token are thrown away before they are journaled. */
  function drop(item: Item): false {
    item.done('stale')
    return false
  }

  function changeOf(batch: readonly Item[]): LaneWrite {
    const slots = new Map(carriedSlots)
    for (const slot of book.takeChanged()) slots.set(slot.nonce, slot)
    for (const { nonce, token, attempt } of batch) {
      const event = { type: 'journaled', token, attempt } as const
      const changed = slots.get(nonce)
      // Several of one nonce may go with one write.
      const isAsNow = changed === undefined || changed === book.get(nonce)
      slots.set(nonce, isAsNow ? book.foresee(nonce, event) : transition(nonce, changed, event).slot)
    }
    return {
      slots: [...slots.values()],
      transactions: withCarried(options.changedTransactions()),
      cursor: options.isSeeding() ? 0 : book.cursor,
      wished: options.wished(),
    }
  }

  function withCarried(changed: readonly StoredTransaction[]): readonly StoredTransaction[] {
    if (carriedTransactions.size === 0) return changed
    const transactions = new Map(carriedTransactions)
    for (const transaction of changed) transactions.set(transaction.id, transaction)
    return [...transactions.values()]
  }

  function keepForLater(change: LaneWrite): void {
    for (const slot of change.slots) carriedSlots.set(slot.nonce, book.get(slot.nonce) ?? slot)
    for (const transaction of change.transactions) carriedTransactions.set(transaction.id, transaction)
  }

  /** Row 5: reads the store until it says whether the attempts are there. */
  async function settleUnknown(batch: readonly Item[]): Promise<void> {
    options.onUnknown(batch.map((item) => item.nonce))
    const found = await readAgain()
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

  async function readAgain(): Promise<ReadonlySet<string> | undefined> {
    for (let tries = failures - 1; !stopped; tries++) {
      await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 3_000)
      try {
        const { slots } = await store.load(lease)
        return new Set(slots.flatMap((slot) => slot.attempts.map((attempt) => attempt.hash)))
      } catch (error) {
        if (isLost(error)) options.onLost()
        else options.onError(error)
      }
    }
    return undefined
  }

  /** Ends at once when the journal stops: what is under way comes to its end then. */
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
      wake?.()
      for (const done of idle.splice(0)) done()
    },
  }
}

function isLost(error: unknown): boolean {
  return isTxlaneError(error) && error.code === 'LEASE_LOST'
}
