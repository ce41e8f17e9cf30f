import type { Tracker } from '../../chain/blocks/blockPoller.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'

type WakeTimerParts = {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  readonly tracker: Pick<Tracker, 'lookNow'>
  readonly readTimeoutMs: number
  readonly due: () => void
}

/** A timer that recognises that the process was suspended. */
export type WakeTimer = {
  set(untilMs: number): void
  cancel(): void
}

/** A timer that is this late was delayed by more than a busy event loop. */
const SLEPT_MS = 1_000

export function createWakeTimer({ clock, tracker, readTimeoutMs, due }: WakeTimerParts): WakeTimer {
  let cancelTimer: CancelTimer | undefined

  /**
   * A suspended process wakes late, and its state is stale. It polls the chain before it interprets its own
   * suspension as silence of the endpoint. It continues after a timeout even if no poll is answered.
   */
  function wake(dueMs: number): void {
    if (clock.now() - dueMs < SLEPT_MS) return due()
    tracker.lookNow()
    cancelTimer = clock.setTimer(due, readTimeoutMs)
  }

  return {
    set(untilMs) {
      cancelTimer = clock.setTimer(() => wake(untilMs), Math.max(1, untilMs - clock.now()))
    },
    cancel() {
      cancelTimer?.()
      cancelTimer = undefined
    },
  }
}
