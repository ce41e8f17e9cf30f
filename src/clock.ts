/** A timer that has been set and can be taken back. Calling it twice, or after it fired, does nothing. */
export type CancelTimer = () => void

/**
 * The only way txlane looks at the time. Injected everywhere, so that the real sender runs in virtual time
 * against a simulated chain.
 */
export type Clock = {
  /** Milliseconds since the epoch. May jump: use it for deadlines that the caller gave in wall time. */
  now(): number
  /** Calls `fn` once, `delayMs` from now; with 0, once what has arrived meanwhile is taken in. Never synchronously. */
  setTimer(fn: () => void, delayMs: number): CancelTimer
}

/** A number in [0, 1). Injected beside the clock, so that a run replays from its seed. */
export type Random = () => number

const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * Node's: after a look at what has arrived. A timer is not: one of 0 is due after a millisecond, and where the work that
 * set it takes longer and any other timer is set meanwhile, which moves libuv's clock on, it fires before Node looks
 * anywhere else (`uv__run_timers`, seen with libuv 1.46 in Node 20). Work that is cut by such timers keeps the loop to
 * itself all the same.
 */
const immediate = globalThis as {
  setImmediate?: (fn: () => void) => unknown
  clearImmediate?: (handle: unknown) => void
}

/** The machine's own clock. Its timers keep a Node process alive, since each stands for unfinished work. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(fn, delayMs) {
    if (delayMs <= 0 && immediate.setImmediate !== undefined) {
      const handle = immediate.setImmediate(fn)
      return () => immediate.clearImmediate?.(handle)
    }
    const timer = setTimeout(fn, Math.min(Math.max(0, delayMs), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

/** The machine's own clock for what stands for no unfinished work: its timers let a Node process end. */
export const backgroundClock: Clock = {
  now: systemClock.now,
  setTimer(fn, delayMs) {
    const timer: unknown = setTimeout(fn, Math.min(Math.max(0, delayMs), TIMER_MS_MAX))
    // A number in browsers, where nothing is kept alive by it.
    if (typeof timer === 'object') (timer as { unref?: () => void } | null)?.unref?.()
    return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
  },
}

/** A clock whose timers are all taken back at once, when what set them has stopped. */
export function stoppableClock(clock: Clock): Clock & { stop(): void } {
  const pending = new Set<CancelTimer>()
  let stopped = false
  return {
    now: clock.now,
    setTimer(fn, delayMs) {
      if (stopped) return () => {}
      const cancel = clock.setTimer(() => {
        pending.delete(cancel)
        fn()
      }, delayMs)
      pending.add(cancel)
      return () => {
        pending.delete(cancel)
        cancel()
      }
    },
    stop() {
      stopped = true
      for (const cancel of pending) cancel()
      pending.clear()
    },
  }
}

/** The machine's own randomness: used for jitter and for generated ids, never for secrets. */
export const systemRandom: Random = () => Math.random()
