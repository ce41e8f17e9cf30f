import type { CancelTimer, Clock } from '../../clock.js'
import type { Enqueued, Store, StoredTransaction } from '../../store/store.js'

/** Keeps what came in while the store was busy with one call. */
export type Keeper = {
  /**
   * Resolves to what `kept` makes of it once it is in the store; of undefined where the keeper was closed before the
   * store was asked. `failed`: the store did not take it.
   */
  keep<T>(
    transaction: StoredTransaction,
    kept: (enqueued: Enqueued | undefined) => T,
    failed: (error: unknown) => Promise<never>,
  ): Promise<T>
  /** Resolves when the store has answered, and those who wait for it know; undefined where it is not asked. */
  readonly asked: Promise<void> | undefined
  /** The store is asked to keep nothing more. */
  close(): void
}

/** As many as one call to the store keeps: a burst costs few commits, and none of them is long. */
const BATCH_MAX = 500

/** What one call to the store takes. One promise for all of it: thousands may be sent in one turn. */
type Batch = {
  readonly transactions: StoredTransaction[]
  readonly kept: Promise<readonly Enqueued[]>
  /** The store is asked now; with nothing, where it is not to be asked any more. */
  readonly ask: (enqueue: Store['enqueue']) => void
}

export function createKeeper(store: Pick<Store, 'enqueue'>, clock: Pick<Clock, 'setTimer'>): Keeper {
  const waiting: Batch[] = []
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
    asked = batch.kept.then(nobody, nobody)
    batch.ask((transactions) => store.enqueue(transactions))
    await asked
    asked = undefined
  }

  function open(): Batch {
    const last = waiting.at(-1)
    if (last !== undefined && last.transactions.length < BATCH_MAX) return last
    const batch = createBatch()
    if (closed) batch.ask(nothing)
    else waiting.push(batch)
    return batch
  }

  return {
    keep(transaction, kept, failed) {
      const batch = open()
      const index = batch.transactions.push(transaction) - 1
      if (!running && !closed) {
        running = true
        // A microtask later: what is sent in the same turn is kept together.
        queueMicrotask(run)
      }
      return batch.kept.then((all) => kept(all[index]), failed)
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

const nobody = () => {}
const nothing: Store['enqueue'] = async () => []

function createBatch(): Batch {
  const transactions: StoredTransaction[] = []
  let ask: Batch['ask'] = () => {}
  const kept = new Promise<readonly Enqueued[]>((resolve, reject) => {
    ask = (enqueue) => {
      try {
        resolve(enqueue(transactions))
      } catch (error) {
        reject(error)
      }
    }
  })
  return { transactions, kept, ask }
}
