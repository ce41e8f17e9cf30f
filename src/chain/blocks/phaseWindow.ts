/**
 * The time within a period at which something moves, as far as polls have shown: a window that narrows with
 * each pair of polls, one of which shows no change and the next one does.
 */
export type PhaseWindow = {
  readonly isKnown: boolean
  /** The newest time before this one at which a move is certain to have happened; undefined if none is known. */
  dueBefore(atMs: number, period: number): number | undefined
  /** A move fell between these two times. */
  learn(fromMs: number, toMs: number, period: number): void
  /** Time has passed without polls. */
  drift(elapsedMs: number, period: number): void
  /** Another period is polled. */
  next(): void
  /**
   * A time to poll before the move is due at `due`, at which it may have happened already; undefined if that is
   * not worth a poll. `expects`: the poll shows a move if there was one.
   */
  earlyMoment(due: number, expects: boolean, period: number): number | undefined
  /** Another endpoint is read, which moves at other times. */
  forget(): void
}

/** Polls that expect a change halve a wider window. With a steady period a move is seen at most this late. */
const FINE_MS = 14
/** The minimum width of the window: moves jitter, and requests take time. */
const WIDTH_MS_MIN = 8
/** Both grow to these parts of a long period, because the blocks of slow chains travel between nodes. */
const FINE_PART = 1 / 100
const WIDTH_PART = 1 / 250
/** The maximum lateness of a move before a different phase is assumed. */
const LATE_MS = 40
const LATE_PART = 1 / 10
/**
 * The window grows by this fraction of the elapsed time on both sides, because clocks drift: less if the period
 * was learned from the moves.
 */
const DRIFT = 0.001
const DRIFT_LEARNED = 0.0003
/** The window is polled at both ends once in this many periods, and more rarely while the moves jitter. */
const BOTH_ENDS_EVERY = 10
const BOTH_ENDS_EVERY_MAX = 20
/** The first move of a counter fell into the period before the poll that showed it. */
const FIRST_PART = 0.9

/** `isLearned`: the period was learned from moves, each of which is shown. */
export function createPhaseWindow(isLearned: boolean): PhaseWindow {
  /** The move falls between `end - width` and `end`, or whole periods away from there. */
  let window: { readonly end: number; readonly width: number } | undefined
  // The last move came before the window: no poll has shown when it had not happened yet.
  let isOpen = false
  let periods = 0
  let bothEndsEvery = BOTH_ENDS_EVERY

  const fineMs = (period: number) => Math.max(FINE_MS, period * FINE_PART)
  const lateMs = (period: number) => Math.max(LATE_MS, period * LATE_PART)

  function learn(fromMs: number, toMs: number, period: number): void {
    if (window === undefined && isLearned)
      return narrow(Math.max(fromMs, toMs - period * FIRST_PART), toMs, period)
    if (toMs - fromMs >= period) return
    if (window === undefined) return narrow(fromMs, toMs, period)
    const end = window.end + Math.round((toMs - window.end) / period) * period
    const from = Math.max(fromMs, end - window.width)
    const to = Math.min(toMs, end)
    // Whether the poll at the begin of the window shows the move. Wider windows are polled in the middle, too.
    const beginPart = isLearned && window.width <= fineMs(period) ? 1 / 2 : 1 / 4
    const isBefore = fromMs < from && toMs < from + window.width * beginPart
    if (from < to && !isBefore) {
      if (fromMs >= from) isOpen = false
      return narrow(from, to, period)
    }
    // The move left the window. A small delay is jitter. If it came before the window, it is most likely
    // still close to it.
    const isLate = fromMs >= end
    isOpen = false
    bothEndsEvery = isLate ? Math.min(BOTH_ENDS_EVERY_MAX, 2 * bothEndsEvery) : BOTH_ENDS_EVERY
    if (!isLate) {
      const widest = Math.max(2 * window.width, lateMs(period))
      isOpen = true
      return narrow(Math.max(fromMs, toMs - widest), toMs, period)
    }
    if (toMs - end >= lateMs(period)) return narrow(fromMs, toMs, period)
    narrow(Math.max(end - window.width, toMs - Math.max(fineMs(period), toMs - fromMs)), toMs, period)
  }

  function narrow(fromMs: number, toMs: number, period: number): void {
    const width = Math.max(toMs - fromMs, WIDTH_MS_MIN, period * WIDTH_PART)
    window = width < period ? { end: toMs, width } : undefined
  }

  function drift(elapsedMs: number, period: number): void {
    if (window === undefined) return
    const by = elapsedMs * (isLearned ? DRIFT_LEARNED : DRIFT)
    const width = window.width + 2 * by
    window = width < period ? { end: window.end + by, width } : undefined
  }

  return {
    get isKnown() {
      return window !== undefined
    },
    dueBefore(atMs, period) {
      return window && window.end + Math.floor((atMs - window.end) / period) * period
    },
    learn,
    drift,
    next: () => void periods++,
    earlyMoment(due, expects, period) {
      if (window === undefined) return undefined
      if (expects && window.width > fineMs(period)) return due - window.width / 2
      return isOpen || periods % bothEndsEvery === 0 ? due - window.width : undefined
    },
    forget() {
      window = undefined
    },
  }
}
