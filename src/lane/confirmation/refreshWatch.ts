import type { Look } from '../../chain/blocks/follower.js'
import type { Clock } from '../../platform/clock.js'

/**
 * Selects the polls whose pending block was rebuilt since the last poll that said something about earlier
 * sends.
 */
export type RefreshWatch = {
  isNew(look: Look): boolean
  /** The poll said something about earlier sends, which a poll too soon after a send does not. */
  noteUsed(look: Look): void
}

/** Two polls that are closer than this part of the cadence may have seen the same pending block. */
const CADENCE_PART = 3 / 4

/** `cadenceMs`: milliseconds between two refreshes. */
export function createRefreshWatch(clock: Pick<Clock, 'now'>, cadenceMs: () => number): RefreshWatch {
  let last: Pick<Look, 'refreshes'> & { readonly atMs: number } = {
    atMs: Number.NEGATIVE_INFINITY,
    refreshes: undefined,
  }
  return {
    isNew({ hasPending, refreshes }) {
      if (!hasPending) return false
      // An empty pending block looks like the previous one. If the rhythm is known, it gives the number of
      // refreshes.
      if (refreshes !== undefined && last.refreshes !== undefined) return refreshes !== last.refreshes
      return clock.now() - last.atMs >= cadenceMs() * CADENCE_PART
    },
    noteUsed({ refreshes }) {
      last = { atMs: clock.now(), refreshes }
    },
  }
}
