import type { Clock } from '../../platform/clock.js'
import type { Pace } from './follower.js'

/**
 * Finality may be 20 minutes away, and a poll for each block of 200 ms until then would cost more than the
 * transactions did. The rest begins late: transactions often follow each other, and the next one is seen sooner
 * while the time of the blocks is known exactly.
 */
const REST_AFTER_MS = 15_000

/** The pace of a follower: a poll for each block in place of `rest` until it has rested for `REST_AFTER_MS`. */
export function createRest(clock: Pick<Clock, 'now'>) {
  let busyAtMs = Number.NEGATIVE_INFINITY
  return {
    paceOf(pace: Pace): Pace {
      const nowMs = clock.now()
      if (pace === 'rest') return nowMs - busyAtMs < REST_AFTER_MS ? 'block' : 'rest'
      if (pace !== 'idle') busyAtMs = nowMs
      return pace
    },
  }
}
