import type { StoredTransaction } from '../../store/store.js'
import { type LaneContext, reportError } from '../context.js'

const LOOK_MS = 1_000

/**
 * Looks in the store for transactions whose `enqueue` ended without a clear answer. The lane skips an arrival that this
 * process is keeping at that moment; where the answer is then lost, nobody else sends it. The store is asked for one id at
 * a time, and once a second while it does not answer.
 */
export function createDoubted(
  context: Pick<LaneContext, 'lane' | 'store' | 'clock' | 'closed' | 'errors'>,
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
