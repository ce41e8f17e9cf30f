import type { Lane } from '../../allocator/lane.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Store, StoredTransaction } from '../../types/store.js'

const LOOK_MS = 1_000

/**
 * Looks up transactions whose `enqueue` ended without a clear answer. The inbox skips arrivals that this
 * process is persisting at that moment, so if the answer is then lost, no other part would send the
 * transaction. The store is asked for one id at a time, and once a second while it does not answer.
 */
export function createDoubted(
  context: {
    readonly lane: Lane
    readonly store: Store
    readonly clock: Clock
    readonly closed: boolean
    readonly errors: Repeats<Error>
  },
  found: (stored: StoredTransaction) => Promise<void>,
): (id: string) => void {
  const { lane, store, clock } = context
  const ids = new Set<string>()

  async function look(): Promise<void> {
    for (const id of ids) {
      const stored = await store.find(lane.key, { id })
      ids.delete(id)
      if (stored?.lane.address === lane.key.address) await found(stored)
    }
  }

  function later(): void {
    clock.setTimer(() => {
      if (context.closed) return
      void look().catch((error: unknown) => {
        reportError(context, error)
        later()
      })
    }, LOOK_MS)
  }

  return (id) => {
    if (ids.size === 0) later()
    ids.add(id)
  }
}
