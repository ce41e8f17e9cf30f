/** Cancels a timer. Calling it twice, or after the timer fired, has no effect. */
export type CancelTimer = () => void

/**
 * The only source of time in txlane. It is injected everywhere, so that the real sender can run in virtual
 * time against a simulated chain.
 */
export type Clock = {
  /**
   * Milliseconds of a monotonic clock, for elapsed time. It does not go back when the machine's wall clock
   * does. Its values have no meaning outside the process. They are large from the start, so that 0 is long
   * ago.
   */
  now(): number
  /**
   * Milliseconds since the epoch, by the machine's wall clock, which may step in both directions (NTP, a
   * resumed virtual machine). Used for deadlines that a caller gave in wall time, and for timestamps that are
   * stored or shown.
   */
  wallNow(): number
  /**
   * Calls `fn` once, after `delayMs` of elapsed time, which may be of any length. With 0, `fn` runs once the
   * event loop has handled the I/O that has arrived meanwhile. `fn` is never called synchronously.
   */
  setTimer(fn: () => void, delayMs: number): CancelTimer
}

/** A number in [0, 1). Injected beside the clock, so that a run can be replayed from its seed. */
export type Random = () => number

/** The longest delay that `setTimeout` supports. With a longer one it fires after 1 ms. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * `performance.now()` starts at 0. Without this offset an event with the time 0 would seem to have happened
 * just now.
 */
const ORIGIN_MS = 10 ** 9

/**
 * Node's `setImmediate` runs after the event loop has polled for I/O. A timer of 0 does not: it is due after
 * a millisecond. If the work that set it takes longer and another timer is set meanwhile, which advances
 * libuv's clock, it fires before Node polls for I/O (`uv__run_timers`, seen with libuv 1.46 in Node 20). Work
 * that is split by such timers still blocks the event loop.
 */
const immediate = globalThis as {
  setImmediate?: (fn: () => void) => unknown
  clearImmediate?: (handle: unknown) => void
}

/** Calls `set` with a delay of any length: a delay above `TIMER_MS_MAX` is split into several timers. */
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
  // In browsers the timer is a number, and timers keep no process alive.
  if (typeof timer === 'object') (timer as { unref?: () => void } | null)?.unref?.()
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
}

/** The machine's own clock. Its timers keep a Node process alive, because each stands for unfinished work. */
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

/** The machine's own clock for background work: its timers do not keep a Node process alive. */
export const backgroundClock: Clock = {
  ...systemClock,
  setTimer: (fn, delayMs) => setLong(setUnreferenced, fn, delayMs),
}

/**
 * Resolves once the event loop has handled the I/O that has arrived meanwhile. Called between the parts of
 * long work.
 */
export function nextTurn(clock: Pick<Clock, 'setTimer'>): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(resolve, 0))
}

/** A moment on both clocks. */
export type Moment = { readonly atMs: number; readonly wallMs: number }

export function momentOf(clock: Pick<Clock, 'now' | 'wallNow'>): Moment {
  return { atMs: clock.now(), wallMs: clock.wallNow() }
}

/**
 * True if certainly at most `ms` have passed since then, that is, if both clocks agree. The monotonic clock
 * stops while a machine sleeps (Linux's CLOCK_MONOTONIC does not count suspended time, clock_gettime(2)). The
 * wall clock shows the sleep once it is set forward.
 */
export function isWithin(clock: Pick<Clock, 'now' | 'wallNow'>, since: Moment, ms: number): boolean {
  const wallPassedMs = clock.wallNow() - since.wallMs
  return clock.now() - since.atMs <= ms && wallPassedMs >= 0 && wallPassedMs <= ms
}

/** A clock whose timers are all cancelled at once when their owner stops. */
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

/** The machine's own randomness. Used for jitter and for generated ids, never for secrets. */
export const systemRandom: Random = () => Math.random()
