import type { CancelTimer, Clock } from '../../platform/clock.js'

/**
 * Calls `tick` on a fixed grid from now on, never twice at once. A tick that overruns skips the grid points that it
 * missed, so that the ticks after it are on time again and a slow machine makes fewer blocks instead of a backlog.
 */
export function startTicker(options: {
  readonly clock: Clock
  readonly everyMs: number
  readonly tick: () => Promise<void>
}): { stop(): void } {
  const { clock, everyMs, tick } = options
  const startMs = clock.now()
  let stopped = false
  let cancel: CancelTimer = () => undefined

  function schedule(): void {
    if (stopped) return
    const elapsedMs = clock.now() - startMs
    const nextMs = (Math.floor(elapsedMs / everyMs) + 1) * everyMs
    cancel = clock.setTimer(run, nextMs - elapsedMs)
  }

  function run(): void {
    // A tick that failed is over as well: whoever made it fail (a stop, the child's end) stops the ticker.
    tick().then(schedule, schedule)
  }

  schedule()
  return {
    stop() {
      stopped = true
      cancel()
    },
  }
}
