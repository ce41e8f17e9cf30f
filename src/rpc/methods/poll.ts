import type { CancelTimer, Clock } from '../../platform/clock.js'

/**
 * Runs `tick` now and then every `intervalMs`, counted from start to start, never two at a time: a tick that takes
 * longer is followed by the next at once. `tick` must not reject. Returns what stops it, and aborts the running one.
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
    // The wall clock may jump either way.
    const elapsedMs = Math.min(Math.max(0, clock.now() - startedAtMs), intervalMs)
    cancelTimer = clock.setTimer(() => void run(), intervalMs - elapsedMs)
  }

  void run()
  return () => {
    controller.abort()
    cancelTimer?.()
  }
}
