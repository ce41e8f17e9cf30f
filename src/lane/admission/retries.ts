import type { Clock, Random } from '../../platform/clock.js'
import type { Limits } from '../../types/index.js'

const RETRY_MS = 100
const RETRY_MS_MAX = 3_000

export type RetriesContext = {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  readonly random: Random
  readonly limits: Pick<Limits, 'restMsMax'>
  readonly closed: boolean
}

/** Calls `run` after a pause that grows with `tries`, or after the pause that the node asked for. */
type ScheduleRetry = (tries: number, retryAfterMs: number | undefined, run: () => void) => void

/** Retries that are due in the same tenth of a second share a timer, and so a request. */
export function createRetries(context: RetriesContext): ScheduleRetry {
  const { clock, limits, random } = context
  // By the time at which they are due.
  const retries = new Map<number, (() => void)[]>()

  return (tries, retryAfterMs = 0, run) => {
    const usualMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** tries) * (1 + random() / 2)
    const afterMs = Math.max(usualMs, Math.min(retryAfterMs, limits.restMsMax))
    const atMs = Math.ceil((clock.now() + afterMs) / RETRY_MS) * RETRY_MS
    const others = retries.get(atMs)
    if (others) return void others.push(run)
    const all = [run]
    retries.set(atMs, all)
    clock.setTimer(() => {
      retries.delete(atMs)
      if (!context.closed) for (const one of all) one()
    }, atMs - clock.now())
  }
}
