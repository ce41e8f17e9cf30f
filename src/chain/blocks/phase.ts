/**
 * Decides when to poll a pending block that is rebuilt at a steady pace: soon after it was built, with hardly
 * more polls than refreshes. The time of the refresh within the period is narrowed down by pairs of polls:
 * one shows no change and the next one does. Correctness does not depend on it: a wrong estimate costs a
 * period, never a poll.
 */
export type Phase = {
  /** A poll of the pending block: when it was requested and answered, and a fingerprint of the block. */
  looked(askedMs: number, answeredMs: number, sign: string): void
  /**
   * When to poll next. `isFast`: a transaction is about to appear there, so that additional polls are worth
   * their price. `startedMs`: when the last poll began.
   */
  next(at: { readonly startedMs: number; readonly nowMs: number; readonly isFast: boolean }): number
  /**
   * How many refreshes the polls have shown, including refreshes without a transaction. Undefined while their
   * time is not known.
   */
  readonly refreshes: number | undefined
  /** Another endpoint is read, which builds its blocks at other times. */
  forget(): void
}

/** The time between fast polls while nothing is known yet. */
const FAST_MS = 50
/** Fast polls halve a wider window. With a steady period a refresh is seen at most this late. */
const FINE_MS = 14
/** The minimum width of the window: refreshes jitter, and requests take time. */
const WIDTH_MS_MIN = 8
/**
 * The maximum lateness of a refresh before a different period is assumed, and the time until the next poll
 * for it.
 */
const LATE_MS = 40
const AGAIN_MS = 20
/** The window grows by this fraction of the elapsed time on both sides, because clocks drift. */
const DRIFT = 0.001
/** The window is polled at both ends once in this many periods. */
const BOTH_ENDS_EVERY = 10
const APART_MS_MIN = 10
/** Answers take longer or shorter than before: a poll may be too early by this much. */
const SLACK_MS = 10

export function createPhase(periodMs: () => number): Phase {
  /** The refresh falls between `end - width` and `end`, or whole periods away from there. */
  let window: { readonly end: number; readonly width: number } | undefined
  let last: { readonly atMs: number; readonly sign: string; readonly changed: boolean } | undefined
  let roundTripMs = 0
  let periods = 0
  let refreshes = 0
  // The due time of the newest refresh that a poll has shown.
  let shownMs = Number.NEGATIVE_INFINITY

  /** A refresh fell between these two times. */
  function learn(fromMs: number, toMs: number): void {
    const period = periodMs()
    if (toMs - fromMs >= period) return
    if (window === undefined) return narrow(fromMs, toMs)
    const end = window.end + Math.round((toMs - window.end) / period) * period
    const from = Math.max(fromMs, end - window.width)
    const to = Math.min(toMs, end)
    if (from < to) return narrow(from, to)
    // The refresh moved out of the window. A small delay is jitter. If it came before the window, it is most
    // likely still close to it.
    if (fromMs >= end) return toMs - end < LATE_MS ? narrow(end - window.width, toMs) : narrow(fromMs, toMs)
    narrow(Math.max(fromMs, toMs - Math.max(2 * window.width, LATE_MS)), toMs)
  }

  function narrow(fromMs: number, toMs: number): void {
    const width = Math.max(toMs - fromMs, WIDTH_MS_MIN)
    window = width < periodMs() ? { end: toMs, width } : undefined
  }

  function drift(elapsedMs: number): void {
    if (window === undefined) return
    const by = elapsedMs * DRIFT
    const width = window.width + 2 * by
    window = width < periodMs() ? { end: window.end + by, width } : undefined
  }

  /**
   * A poll shows the refresh that was due before it. If that refresh was shown already, a change shortly
   * before the next due time belongs to the next refresh.
   */
  function count(atMs: number, changed: boolean): void {
    if (window === undefined) return
    const period = periodMs()
    const passedMs = window.end + Math.floor((atMs - window.end) / period) * period
    const isShown = passedMs - shownMs <= period / 2
    const isEarly = changed && isShown && atMs - passedMs > period / 2
    if (isShown && !isEarly) return
    refreshes++
    shownMs = isEarly ? passedMs + period : passedMs
  }

  /** The times to poll around the refresh at `end`, in order. */
  function momentsAt(end: number, width: number, isFast: boolean): number[] {
    const moments = [end]
    if (isFast && width > FINE_MS) moments.unshift(end - width / 2)
    else if (periods % BOTH_ENDS_EVERY === 0) moments.unshift(end - width)
    return moments
  }

  return {
    looked(askedMs, answeredMs, sign) {
      // The block was read at some time in between.
      const atMs = (askedMs + answeredMs) / 2
      roundTripMs += (answeredMs - askedMs - roundTripMs) / 4
      const changed = last !== undefined && last.sign !== sign
      if (last !== undefined) drift(Math.max(0, atMs - last.atMs))
      if (last !== undefined && changed) learn(last.atMs, atMs)
      count(atMs, changed)
      last = { atMs, sign, changed }
    },
    next({ startedMs, nowMs, isFast }) {
      const period = periodMs()
      if (window === undefined) return startedMs + (isFast ? Math.min(FAST_MS, period) : period)
      const soonestMs = Math.max(nowMs, startedMs + APART_MS_MIN)
      // The lead makes the node read the block right when it is there.
      const lead = roundTripMs / 2 - 1
      const { width } = window
      const passed = window.end + Math.floor((soonestMs + lead - window.end) / period) * period
      const unchanged = last?.changed === false && last.atMs >= passed - SLACK_MS
      const late = unchanged && soonestMs + lead - passed < LATE_MS
      if (isFast && late) return Math.max(soonestMs, startedMs + AGAIN_MS)
      periods++
      for (let end = passed + period; ; end += period) {
        const moment = momentsAt(end, width, isFast).find((at) => at - lead > soonestMs)
        if (moment !== undefined) return moment - lead
      }
    },
    get refreshes() {
      return window && refreshes
    },
    forget() {
      window = undefined
      last = undefined
      shownMs = Number.NEGATIVE_INFINITY
    },
  }
}
