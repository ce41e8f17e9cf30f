import type { Attempt } from '../ledger/slot.js'
import { queueMicro } from '../platform/microtask.js'
import type { Turns } from '../platform/turns.js'
import { createReread, isLeaseLost, type RereadOptions } from './journalReread.js'
import { type Commit, createJournalWrite, type WriteSources } from './journalWrite.js'

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
