import type { CancelTimer, Clock } from '../../platform/clock.js'

/**
 * Runs `tick` now and then every `intervalMs`, measured from start to start, and never twice at once. A tick
 * that takes longer is followed by the next one at once. `tick` must not reject. The returned function stops
 * the polling, and aborts the running tick.
 */
export function poll(
  clock: Clock,
  intervalMs: number,
  tick: (signal: AbortSignal) => Promise<void>,
): () => void {
  const controller = new AbortController()
  let cancelTimer: CancelTimer | undefined

  async function run(): Promise<void> {
    const startedAtMs = clock.now()
    await tick(controller.signal)
    if (controller.signal.aborted) return
    // The clock may be the wall clock, which may jump either way.
    const elapsedMs = Math.min(Math.max(0, clock.now() - startedAtMs), intervalMs)
    cancelTimer = clock.setTimer(() => void run(), intervalMs - elapsedMs)
  }

  void run()
  return () => {
    controller.abort()
    cancelTimer?.()
  }
}
