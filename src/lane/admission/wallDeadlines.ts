import type { CancelTimer, Clock } from '../../platform/clock.js'

/** Deadlines in wall time, as callers set them. All of them share one timer. */
export type WallDeadlines<key> = {
  /**
   * The key is due once the wall clock shows `atMs` (milliseconds since the epoch). Replaces an earlier
   * deadline of the key.
   */
  set(key: key, atMs: number): void
  forget(key: key): void
}

/** The wall clock may be set forward. A deadline that it skips is noticed after this time at most. */
const LOOK_MS = 1_000

/**
 * Calls `due` once for each key, in a separate event-loop turn and never early. `due` may set the key again.
 */
export function createWallDeadlines<key>(options: {
  readonly clock: Clock
  readonly due: (key: key) => void
}): WallDeadlines<key> {
  const { clock, due } = options
  const dueAtMs = new Map<key, number>()
  // No deadline is earlier. If the deadline behind it was removed, the next check finds the next one.
  let earliestMs = Number.POSITIVE_INFINITY
  let cancel: CancelTimer | undefined

  function plan(): void {
    cancel?.()
    cancel = undefined
    if (dueAtMs.size === 0) return
    const leftMs = Math.max(0, earliestMs - clock.wallNow())
    cancel = clock.setTimer(look, Math.min(leftMs, LOOK_MS))
  }

  function look(): void {
    cancel = undefined
    const nowMs = clock.wallNow()
    if (nowMs >= earliestMs) expire(nowMs)
    plan()
  }

  function expire(nowMs: number): void {
    const passed: key[] = []
    earliestMs = Number.POSITIVE_INFINITY
    for (const [key, atMs] of dueAtMs) {
      if (atMs <= nowMs) passed.push(key)
      else earliestMs = Math.min(earliestMs, atMs)
    }
    // One due key may make the lane forget another.
    for (const key of passed) if (dueAtMs.delete(key)) due(key)
  }

  return {
    set(key, atMs) {
      dueAtMs.set(key, atMs)
      if (cancel !== undefined && atMs >= earliestMs) return
      earliestMs = Math.min(earliestMs, atMs)
      plan()
    },
    forget(key) {
      if (!dueAtMs.delete(key) || dueAtMs.size > 0) return
      earliestMs = Number.POSITIVE_INFINITY
      plan()
    },
  }
}
