import type { CancelTimer, Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Enqueued, Store, StoredTransaction } from '../../types/store.js'

/** Persists new transactions in batches: all that arrive during one call to the store share the next call. */
export type EnqueueBatcher<entry> = {
  /** Resolves when the callbacks for the entry have run. */
  enqueue(transaction: StoredTransaction, entry: entry): Promise<void>
  /**
   * Resolves when the store has answered the current call and the callbacks have run. Undefined if no call is
   * running.
   */
  readonly asked: Promise<void> | undefined
  /** Makes no more calls to the store. */
  close(): void
}

/** Callbacks for each entry. They must not throw. */
export type EnqueueCallbacks<entry> = {
  /**
   * The entry is in the store. `enqueued` is undefined if the batcher was closed before the call to the
   * store. The result resolves when the entry is handled, or is undefined if it is handled already.
   */
  readonly persisted: (entry: entry, enqueued: Enqueued | undefined) => Promise<void> | undefined
  /** The store did not accept the entry. Resolves when that is handled. */
  readonly failed: (entry: entry, error: unknown) => Promise<void>
}

/** Maximum entries per call to the store: a burst takes few commits, and no commit takes long. */
const BATCH_MAX = 500

/**
 * The entries of one call to the store. They share one promise, because thousands may be sent in one
 * event-loop turn.
 */
type Batch<entry> = {
  readonly transactions: StoredTransaction[]
  readonly entries: entry[]
  readonly answered: Promise<readonly Enqueued[]>
  /** Resolves when all callbacks have run. */
  readonly handled: Promise<void>
  /**
   * Makes the call to the store. A batcher that was closed passes a function that answers with no results.
   */
  readonly ask: (enqueue: Store['enqueue']) => void
}

export function createEnqueueBatcher<entry>(
  store: Pick<Store, 'enqueue'>,
  clock: Pick<Clock, 'setTimer'>,
  callbacks: EnqueueCallbacks<entry>,
): EnqueueBatcher<entry> {
  const waiting: Batch<entry>[] = []
  let running = false
  let closed = false
  let cancelYield: CancelTimer | undefined
  let asked: Promise<void> | undefined

  function run(): void {
    void persistNext().finally(() => {
      if (waiting.length === 0) {
        running = false
        return
      }
      // A timer between two batches lets the first bytes of a burst leave while its last transactions are
      // still to be persisted.
      cancelYield = clock.setTimer(run, 0)
    })
  }

  async function persistNext(): Promise<void> {
    const batch = waiting.shift()
    if (batch === undefined) return
    asked = batch.answered.then(ignore, ignore)
    batch.ask((transactions) => store.enqueue(transactions))
    await asked
    asked = undefined
  }

  function open(): Batch<entry> {
    const last = waiting.at(-1)
    if (last !== undefined && last.transactions.length < BATCH_MAX) return last
    const batch = createBatch(callbacks)
    if (closed) batch.ask(enqueueNothing)
    else waiting.push(batch)
    return batch
  }

  return {
    enqueue(transaction, entry) {
      const batch = open()
      batch.transactions.push(transaction)
      batch.entries.push(entry)
      if (!running && !closed) {
        running = true
        // Runs in a microtask, so that all sends of one event-loop turn share a batch.
        queueMicro(run)
      }
      return batch.handled
    },
    get asked() {
      return asked
    },
    close() {
      closed = true
      cancelYield?.()
      for (const batch of waiting.splice(0)) batch.ask(enqueueNothing)
    },
  }
}

function notifyEach<entry>(
  entries: readonly entry[],
  all: readonly Enqueued[],
  persisted: EnqueueCallbacks<entry>['persisted'],
): Promise<unknown> | undefined {
  let later: Promise<void>[] | undefined
  for (const [index, entry] of entries.entries()) {
    const handled = persisted(entry, all[index])
    if (handled) later = [...(later ?? []), handled]
  }
  return later && Promise.all(later)
}

const ignore = () => {}
const enqueueNothing: Store['enqueue'] = async () => []

function createBatch<entry>({ persisted, failed }: EnqueueCallbacks<entry>): Batch<entry> {
  const transactions: StoredTransaction[] = []
  const entries: entry[] = []
  let ask: Batch<entry>['ask'] = () => {}
  const answered = new Promise<readonly Enqueued[]>((resolve, reject) => {
    ask = (enqueue) => {
      try {
        resolve(enqueue(transactions))
      } catch (error) {
        reject(error)
      }
    }
  })
  const handled = answered.then(
    async (all) => void (await notifyEach(entries, all, persisted)),
    async (error: unknown) => void (await Promise.all(entries.map((entry) => failed(entry, error)))),
  )
  return { transactions, entries, answered, handled, ask }
}
