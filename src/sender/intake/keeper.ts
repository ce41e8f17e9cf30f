import type { CancelTimer, Clock } from '../../clock.js'
import type { Enqueued, Store, StoredTransaction } from '../../store/store.js'

/** Keeps what came in while the store was busy with one call. */
export type Keeper = {
  /** Resolves once it is in the store; to undefined where the keeper was closed before the store was asked. */
  keep(transaction: StoredTransaction): Promise<Enqueued | undefined>
  /** The store is asked to keep nothing more. */
  close(): void
}

/** As many as one call to the store keeps: a burst costs few commits, and none of them is long. */
const BATCH_MAX = 500

type Waiting = {
  readonly transaction: StoredTransaction
  readonly kept: (enqueued: Enqueued | undefined) => void
  readonly failed: (error: unknown) => void
}

export function createKeeper(store: Pick<Store, 'enqueue'>, clock: Pick<Clock, 'setTimer'>): Keeper {
  let waiting: Waiting[] = []
  let running = false
  let closed = false
  let cancelBreath: CancelTimer | undefined

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
    const batch = waiting.slice(0, BATCH_MAX)
    waiting = waiting.slice(BATCH_MAX)
    if (batch.length === 0) return
    try {
      const kept = await store.enqueue(batch.map(({ transaction }) => transaction))
      for (const [index, one] of batch.entries()) one.kept(kept[index])
    } catch (error) {
      for (const one of batch) one.failed(error)
    }
  }

  return {
    keep: (transaction) =>
      new Promise((kept, failed) => {
        if (closed) return kept(undefined)
        waiting.push({ transaction, kept, failed })
        if (running) return
        running = true
        // A microtask later: what is sent in the same turn is kept together.
        queueMicrotask(run)
      }),
    close() {
      closed = true
      cancelBreath?.()
      for (const one of waiting.splice(0)) one.kept(undefined)
    },
  }
}
