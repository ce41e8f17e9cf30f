import type { CancelTimer, Clock } from './clock.js'

/** Looks when it is told to, one look at a time, and from time to time by itself. */
export type Poller = {
  /** Soon; once more where one is under way, since that one may have missed what this is about. */
  pollNow(): void
  stop(): void
}

export function createPoller(options: {
  /** Whose timer the next look waits for. */
  readonly clock: () => Clock
  /** Hints tell at once what is there; this finds what no hint came for. */
  readonly everyMs: () => number
  readonly read: () => Promise<void>
  /** After each look the next one waits so long: many hints in a row cost few of them. @default 0 */
  readonly restMs?: number
  readonly failed: (error: unknown) => void
}): Poller {
  const { clock, restMs = 0 } = options
  let looking = false
  let again = false
  let stopped = false
  let timer: CancelTimer | undefined

  function look(): void {
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
    timer = stopped ? undefined : clock().setTimer(look, options.everyMs())
  }

  return {
    pollNow: look,
    stop() {
      stopped = true
      timer?.()
    },
  }
}
