/**
 * When to look at a pending block that is made anew at a steady pace: soon after it was made, with hardly more looks
 * than there are refreshes. Where in the period the refresh falls is narrowed down by looks of which one shows the same
 * as before and the next one does not. Nothing rests on it: what it gets wrong costs a period, never a look.
 */
export type Phase = {
  /** A look at the pending block: when it was asked for and answered, and what tells it from others. */
  looked(askedMs: number, answeredMs: number, sign: string): void
  /**
   * When to look next. `keen`: something is about to appear there, so that looks in between are worth their price.
   * `startedMs`: when the last look began.
   */
  next(at: { readonly startedMs: number; readonly nowMs: number; readonly keen: boolean }): number
  /** How many refreshes the looks have shown, those without a transaction among them; undefined while it is not known when they fall. */
  readonly refreshes: number | undefined
  /** Another endpoint is read, which makes its blocks at other moments. */
  forget(): void
}

/** Between the looks of who is keen, where nothing is known yet. */
const KEEN_MS = 50
/** A window that is wider is halved by who is keen: by so much is a refresh seen late where the rhythm is steady. */
const FINE_MS = 14
/** What the window is never narrower than: refreshes tremble, and requests take their time. */
const WIDTH_MS_MIN = 8
/** How late a refresh may be before it is another rhythm; and when it is looked for again. */
const LATE_MS = 40
const AGAIN_MS = 20
/** By how much a second makes the window wider on both sides: clocks drift. */
const DRIFT = 0.001
/** In so many periods the window is looked at from both ends once. */
const BOTH_ENDS_EVERY = 10
const APART_MS_MIN = 10
/** Answers take longer or shorter than they did: a look may come so much too early. */
const SLACK_MS = 10

export function createPhase(periodMs: () => number): Phase {
  /** The refresh is between `end - width` and `end`, or whole periods away from there. */
  let window: { readonly end: number; readonly width: number } | undefined
  let last: { readonly atMs: number; readonly sign: string; readonly changed: boolean } | undefined
  let roundTripMs = 0
  let periods = 0
  let refreshes = 0
  // When the newest refresh that a look has shown was due.
  let shownMs = Number.NEGATIVE_INFINITY

  /** A refresh fell between these two moments. */
  function learn(fromMs: number, toMs: number): void {
    const period = periodMs()
    if (toMs - fromMs >= period) return
    if (window === undefined) return narrow(fromMs, toMs)
    const end = window.end + Math.round((toMs - window.end) / period) * period
    const from = Math.max(fromMs, end - window.width)
    const to = Math.min(toMs, end)
    if (from < to) return narrow(from, to)
    // Not where it was. A little off, it trembles; before the window, it is most likely not far from it.
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
   * A look shows the refresh that was due before it. Where that one was shown already, something new that shows shortly
   * before the next one is due is of the next.
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

  /** Moments worth looking at around the refresh that falls at `end`, in order. */
  function momentsAt(end: number, width: number, keen: boolean): number[] {
    const moments = [end]
    if (keen && width > FINE_MS) moments.unshift(end - width / 2)
    else if (periods % BOTH_ENDS_EVERY === 0) moments.unshift(end - width)
    return moments
  }

  return {
    looked(askedMs, answeredMs, sign) {
      // It was read somewhere between.
      const atMs = (askedMs + answeredMs) / 2
      roundTripMs += (answeredMs - askedMs - roundTripMs) / 4
      const changed = last !== undefined && last.sign !== sign
      if (last !== undefined) drift(Math.max(0, atMs - last.atMs))
      if (last !== undefined && changed) learn(last.atMs, atMs)
      count(atMs, changed)
      last = { atMs, sign, changed }
    },
    next({ startedMs, nowMs, keen }) {
      const period = periodMs()
      if (window === undefined) return startedMs + (keen ? Math.min(KEEN_MS, period) : period)
      const soonestMs = Math.max(nowMs, startedMs + APART_MS_MIN)
      // So that it is read when it is there.
      const lead = roundTripMs / 2 - 1
      const { width } = window
      const passed = window.end + Math.floor((soonestMs + lead - window.end) / period) * period
      const unchanged = last?.changed === false && last.atMs >= passed - SLACK_MS
      const late = unchanged && soonestMs + lead - passed < LATE_MS
      if (keen && late) return Math.max(soonestMs, startedMs + AGAIN_MS)
      periods++
      for (let end = passed + period; ; end += period) {
        const moment = momentsAt(end, width, keen).find((at) => at - lead > soonestMs)
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
