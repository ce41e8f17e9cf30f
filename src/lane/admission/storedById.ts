import type { Clock } from '../../platform/clock.js'
import { createPoller, type Poller } from '../../platform/poller.js'
import type { ChainKey, Store, StoredTransaction } from '../../types/store.js'

/** The number of parallel lookups. */
export const LOOKUP_BATCH = 32

/** Looks ids up in order, in batches, and calls `found` for each one; stops when it returns false. */
export async function findByIds(
  store: Pick<Store, 'find'>,
  chain: ChainKey,
  ids: readonly string[],
  found: (stored: StoredTransaction | undefined, id: string) => boolean,
): Promise<void> {
  for (let first = 0; first < ids.length; first += LOOKUP_BATCH) {
    const some = ids.slice(first, first + LOOKUP_BATCH)
    const records = await Promise.all(some.map((id) => store.find(chain, { id })))
    for (const [index, id] of some.entries()) if (!found(records[index], id)) return
  }
}

/** Follows transactions that another process works, by their records in the store. */
export type StoreSubscription = {
  /** Reads the records soon, and from then on at intervals, as long as there are ids. */
  pollNow(): void
  stop(): void
}

/** The interval of reads without a notification. */
const LOOK_MS = 1_000
/** The shortest interval with notifications: an active lane is written many times a second. */
const REST_MS = 100

export function createStoreSubscription(parts: {
  readonly store: Pick<Store, 'find'>
  readonly chain: ChainKey
  readonly clock: Clock
  readonly ids: () => readonly string[]
  /** Called with each record that was read; with undefined if the store has none. */
  readonly learn: (stored: StoredTransaction | undefined, id: string) => void
  readonly failed: (error: unknown) => void
}): StoreSubscription {
  const { store, chain, clock, ids, learn, failed } = parts
  let poller: Poller | undefined
  let stopped = false

  async function read(): Promise<void> {
    await findByIds(store, chain, ids(), (stored, id) => {
      if (!stopped) learn(stored, id)
      return !stopped
    })
    if (ids().length > 0) return
    poller?.stop()
    poller = undefined
  }

  return {
    pollNow() {
      if (stopped) return
      poller ??= createPoller({
        clock: () => clock,
        everyMs: () => LOOK_MS,
        restMs: REST_MS,
        read,
        failed,
      })
      poller.pollNow()
    },
    stop() {
      stopped = true
      poller?.stop()
    },
  }
}
