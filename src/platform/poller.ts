import type { CancelTimer, Clock } from './clock.js'

/** Polls on request and at intervals, one poll at a time. */
export type Poller = {
  /** Polls soon. If a poll is running, another one follows it, because the running one may have missed the change. */
  pollNow(): void
  stop(): void
}

export function createPoller(options: {
  /** The clock that times the next poll. */
  readonly clock: () => Clock
  /** A hint triggers a poll at once. The interval finds changes without a hint. */
  readonly everyMs: () => number
  readonly read: () => Promise<void>
  /** The least time between two polls, so that many hints in a row cost few polls. @default 0 */
  readonly restMs?: number
  readonly failed: (error: unknown) => void
}): Poller {
  const { clock, restMs = 0 } = options
  let looking = false
  let again = false
  let stopped = false
  let timer: CancelTimer | undefined

  function poll(): void {
    if (looking) {
      again = true
      return
    }
    if (stopped) return
    looking = true
    void read()
      .catch((error: unknown) => {
        if (!stopped) options.failed(error)
      })
      .finally(() => {
        looking = false
        plan()
      })
  }

  async function read(): Promise<void> {
    do {
      again = false
      await options.read()
      if (restMs > 0) await new Promise<void>((resolve) => void clock().setTimer(resolve, restMs))
    } while (again && !stopped)
  }

  function plan(): void {
    timer?.()
    timer = stopped ? undefined : clock().setTimer(poll, options.everyMs())
  }

  return {
    pollNow: poll,
    stop() {
      stopped = true
      timer?.()
    },
  }
}
