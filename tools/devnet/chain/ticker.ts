import type { CancelTimer, Clock } from '../../../src/platform/clock.js'

/**
 * Calls `tick` on a fixed time grid, never twice at once. A tick that overruns skips the grid points that it
 * missed. Later ticks are then on time again, and a slow machine makes fewer blocks instead of a backlog.
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
    // A failed tick also schedules the next one. The owner stops the ticker when anvil ends or the devnet
    // stops.
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
