import type { StoredTransaction } from '../../store/store.js'
import { type LaneContext, reportError } from '../context.js'

const LOOK_MS = 1_000

/**
 * Notes ids of what the store may have kept although it did not say so, and looks for them there: it may have been passed
 * over among what arrived, as one that was being kept here. One after the other: a store that answers nothing is asked one
 * thing a second.
 */
export function createDoubted(
  context: Pick<LaneContext, 'lane' | 'store' | 'clock' | 'closed' | 'events'>,
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
