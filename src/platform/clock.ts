/** A timer that has been set and can be taken back. Calling it twice, or after it fired, does nothing. */
export type CancelTimer = () => void

/**
 * The only way txlane looks at the time. Injected everywhere, so that the real sender runs in virtual time
 * against a simulated chain.
 */
export type Clock = {
  /**
   * Milliseconds on a clock that only moves forward, also where the machine's wall clock is set back: for elapsed time.
   * Its values mean nothing outside the process. They are large from the start, so that 0 is long ago.
   */
  now(): number
  /**
   * Milliseconds since the epoch, by the machine's wall clock, which may step in both directions (NTP, a virtual machine
   * that is resumed). For deadlines that a caller gave in wall time, and for timestamps that are kept or shown.
   */
  wallNow(): number
  /**
   * Calls `fn` once, `delayMs` of elapsed time from now, however long that is; with 0, once what has arrived meanwhile is
   * taken in. Never synchronously.
   */
  setTimer(fn: () => void, delayMs: number): CancelTimer
}

/** A number in [0, 1). Injected beside the clock, so that a run replays from its seed. */
export type Random = () => number

/** The longest delay that `setTimeout` takes; it calls back after 1 ms where it is given a longer one. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** `performance.now()` begins at 0: what happened "at 0" would seem to have happened just now. */
const ORIGIN_MS = 10 ** 9

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

/** `set` with a delay of any length: a delay that it does not take is cut into several timers. */
function setLong(
  set: (fn: () => void, delayMs: number) => CancelTimer,
  fn: () => void,
  delayMs: number,
): CancelTimer {
  if (!(delayMs > TIMER_MS_MAX)) return set(fn, Math.max(0, delayMs))
  let cancel = set(next, TIMER_MS_MAX)
  function next(): void {
    cancel = setLong(set, fn, delayMs - TIMER_MS_MAX)
  }
  return () => cancel()
}

function setTimeoutOf(fn: () => void, delayMs: number): CancelTimer {
  const timer = setTimeout(fn, delayMs)
  return () => clearTimeout(timer)
}

function setUnreferenced(fn: () => void, delayMs: number): CancelTimer {
  const timer: unknown = setTimeout(fn, delayMs)
  // A number in browsers, where nothing is kept alive by it.
  if (typeof timer === 'object') (timer as { unref?: () => void } | null)?.unref?.()
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
}

/** The machine's own clock. Its timers keep a Node process alive, since each stands for unfinished work. */
export const systemClock: Clock = {
  now: () => ORIGIN_MS + performance.now(),
  wallNow: () => Date.now(),
  setTimer(fn, delayMs) {
    if (delayMs <= 0 && immediate.setImmediate !== undefined) {
      const handle = immediate.setImmediate(fn)
      return () => immediate.clearImmediate?.(handle)
    }
    return setLong(setTimeoutOf, fn, delayMs)
  },
}

/** The machine's own clock for what stands for no unfinished work: its timers let a Node process end. */
export const backgroundClock: Clock = {
  ...systemClock,
  setTimer: (fn, delayMs) => setLong(setUnreferenced, fn, delayMs),
}

/** Resolves once the event loop has taken in what has arrived meanwhile: between parts of long work. */
export function nextTurn(clock: Pick<Clock, 'setTimer'>): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(resolve, 0))
}

/** A moment on both clocks. */
export type Moment = { readonly atMs: number; readonly wallMs: number }

export function momentOf(clock: Pick<Clock, 'now' | 'wallNow'>): Moment {
  return { atMs: clock.now(), wallMs: clock.wallNow() }
}

/**
 * True where it is certain that no more than `ms` have passed since: both clocks agree. The steady one stands still while
 * a machine sleeps (CLOCK_MONOTONIC of Linux does not count the time suspended, clock_gettime(2)); the wall clock shows
 * that when it is set forward afterwards.
 */
export function isWithin(clock: Pick<Clock, 'now' | 'wallNow'>, since: Moment, ms: number): boolean {
  const wallPassedMs = clock.wallNow() - since.wallMs
  return clock.now() - since.atMs <= ms && wallPassedMs >= 0 && wallPassedMs <= ms
}

/** A clock whose timers are all taken back at once, when what set them has stopped. */
export function stoppableClock(clock: Clock): Clock & { stop(): void } {
  const pending = new Set<CancelTimer>()
  let stopped = false
  return {
    now: clock.now,
    wallNow: clock.wallNow,
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
