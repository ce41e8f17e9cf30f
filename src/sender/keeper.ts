import type { Clock } from '../clock.js'
import type { Enqueued, Store, StoredTransaction } from '../store/store.js'

/** As many as one call to the store keeps: a burst costs few commits, and none of them is long. */
const BATCH_MAX = 500

type Waiting = {
  readonly transaction: StoredTransaction
  readonly kept: (enqueued: Enqueued) => void
  readonly failed: (error: unknown) => void
}

/** Keeps what came in while the store was busy with one call. Each resolves once it is in the store. */
export function createKeeper(
  store: Pick<Store, 'enqueue'>,
  clock: Pick<Clock, 'setTimer'>,
): (transaction: StoredTransaction) => Promise<Enqueued> {
  let waiting: Waiting[] = []
  let running = false

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH_MAX)
      waiting = waiting.slice(BATCH_MAX)
      try {
        const kept = await store.enqueue(batch.map(({ transaction }) => transaction))
        for (const [index, one] of batch.entries()) one.kept(kept[index] as Enqueued)
      } catch (error) {
        for (const one of batch) one.failed(error)
      }
      // Its first bytes leave while the last of a burst is still to be kept.
      if (waiting.length > 0) await new Promise<void>((resolve) => void clock.setTimer(resolve, 0))
    }
    running = false
  }

  return (transaction) =>
    new Promise((kept, failed) => {
      waiting.push({ transaction, kept, failed })
      if (running) return
      running = true
      // A microtask later: what is sent in the same turn is kept together.
      queueMicrotask(() => void run())
    })
}
