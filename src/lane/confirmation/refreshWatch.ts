import type { Look } from '../../chain/blocks/follower.js'
import type { Clock } from '../../platform/clock.js'

/** Which looks show a pending block that was made anew since the last one that told something of what was sent before it. */
export type RefreshWatch = {
  isNew(look: Look): boolean
  /** The look told something. One that was asked for too soon after a send does not. */
  told(look: Look): void
}

/** Looks that are closer than this part of the cadence may have seen the same pending block. */
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
      // An empty one looks like the one before: where the rhythm is known, it says how many there were.
      if (refreshes !== undefined && last.refreshes !== undefined) return refreshes !== last.refreshes
      return clock.now() - last.atMs >= cadenceMs() * CADENCE_PART
    },
    told({ refreshes }) {
      last = { atMs: clock.now(), refreshes }
    },
  }
}
