import type { CancelTimer, Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Enqueued, Store, StoredTransaction } from '../../types/store.js'

/** Keeps what came in while the store was busy with one call. */
export type EnqueueBatcher<entry> = {
  /** Resolves when whoever gave the entry has been told what became of it. */
  enqueue(transaction: StoredTransaction, entry: entry): Promise<void>
  /** Resolves when the store has answered, and those who wait for it know; undefined where it is not asked. */
  readonly asked: Promise<void> | undefined
  /** The store is asked to keep nothing more. */
  close(): void
}

/** Who is told of each entry. Neither may throw. */
export type EnqueueCallbacks<entry> = {
  /**
   * It is in the store; undefined where the keeper was closed before the store was asked. Resolves when that has been told,
   * where it is not told at once.
   */
  readonly kept: (entry: entry, enqueued: Enqueued | undefined) => Promise<void> | undefined
  /** The store did not take it. Resolves when that has been told. */
  readonly failed: (entry: entry, error: unknown) => Promise<void>
}

/** As many as one call to the store keeps: a burst costs few commits, and none of them is long. */
const BATCH_MAX = 500

/** What one call to the store takes. One promise for all of it: thousands may be sent in one turn. */
type Batch<entry> = {
  readonly transactions: StoredTransaction[]
  readonly entries: entry[]
  readonly answered: Promise<readonly Enqueued[]>
  /** Resolves when all have been told. */
  readonly told: Promise<void>
  /** The store is asked now; with nothing, where it is not to be asked any more. */
  readonly ask: (enqueue: Store['enqueue']) => void
}

export function createEnqueueBatcher<entry>(
  store: Pick<Store, 'enqueue'>,
  clock: Pick<Clock, 'setTimer'>,
  tell: EnqueueCallbacks<entry>,
): EnqueueBatcher<entry> {
  const waiting: Batch<entry>[] = []
  let running = false
  let closed = false
  let cancelBreath: CancelTimer | undefined
  let asked: Promise<void> | undefined

  function run(): void {
    void keepNext().finally(() => {
      if (waiting.length === 0) {
        running = false
        return
      }
      // Its first bytes leave while the last of a burst is still to be kept.
      cancelBreath = clock.setTimer(run, 0)
    })
  }

  async function keepNext(): Promise<void> {
    const batch = waiting.shift()
    if (batch === undefined) return
    asked = batch.answered.then(nobody, nobody)
    batch.ask((transactions) => store.enqueue(transactions))
    await asked
    asked = undefined
  }

  function open(): Batch<entry> {
    const last = waiting.at(-1)
    if (last !== undefined && last.transactions.length < BATCH_MAX) return last
    const batch = createBatch(tell)
    if (closed) batch.ask(nothing)
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
        // A microtask later: what is sent in the same turn is kept together.
        queueMicro(run)
      }
      return batch.told
    },
    get asked() {
      return asked
    },
    close() {
      closed = true
      cancelBreath?.()
      for (const batch of waiting.splice(0)) batch.ask(nothing)
    },
  }
}

function tellEach<entry>(
  entries: readonly entry[],
  all: readonly Enqueued[],
  kept: EnqueueCallbacks<entry>['kept'],
): Promise<unknown> | undefined {
  let later: Promise<void>[] | undefined
  for (const [index, entry] of entries.entries()) {
    const told = kept(entry, all[index])
    if (told) later = [...(later ?? []), told]
  }
  return later && Promise.all(later)
}

const nobody = () => {}
const nothing: Store['enqueue'] = async () => []

function createBatch<entry>({ kept, failed }: EnqueueCallbacks<entry>): Batch<entry> {
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
  const told = answered.then(
    async (all) => void (await tellEach(entries, all, kept)),
    async (error: unknown) => void (await Promise.all(entries.map((entry) => failed(entry, error)))),
  )
  return { transactions, entries, answered, told, ask }
}
