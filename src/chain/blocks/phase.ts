/**
 * Decides when to poll something that moves at a steady pace, the newest block or a pending block that is
 * rebuilt: soon after it moved, with hardly more polls than moves. The time of the move within the period is
 * narrowed down by pairs of polls: one shows no change and the next one does. Correctness does not depend on
 * it: a wrong estimate costs a period, never a poll.
 */
export type Phase = {
  /**
   * A poll: when it was requested and answered, and a fingerprint of what it showed. `sinceMs`: the move that it
   * shows first came after this time.
   */
  looked(askedMs: number, answeredMs: number, sign: string | number, sinceMs?: number): void
  /**
   * When to poll next; undefined if the phase is not known. `isFast`: a change is about to appear, so that
   * additional polls are worth their price. `startedMs`: when the last poll began.
   */
  next(at: {
    readonly startedMs: number
    readonly nowMs: number
    readonly isFast: boolean
  }): number | undefined
  /** How many moves were due, as far as polls have shown. Undefined while their time is not known. */
  readonly moves: number | undefined
  /** Another endpoint is read, which moves at other times. */
  forget(): void
}

export type PhaseOptions = {
  /** Milliseconds between two moves; undefined if they are not steady. */
  readonly periodMs: () => number | undefined
  /**
   * Each move changes what a poll shows, as with the newest block. A pending block that was rebuilt without a
   * new transaction may look like the one before.
   */
  readonly showsEachMove: boolean
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
 * The pause after a poll without the expected move, as a time and as a part of the period. If each move is
 * shown, the pauses double, because the move is certain to come.
 */
const AGAIN_MS = 20
const AGAIN_PART = 1 / 100
const AGAIN_MS_MAX = 80
const AGAIN_PART_MAX = 1 / 20
/** After this many periods without a move there is no usable phase. */
const SILENT_PERIODS = 4
/**
 * The window grows by this fraction of the elapsed time on both sides, because clocks drift: less if the period
 * was learned from the moves.
 */
const DRIFT = 0.001
const DRIFT_LEARNED = 0.0003
/** The window is polled at both ends once in this many periods, and more rarely while the moves jitter. */
const BOTH_ENDS_EVERY = 10
const BOTH_ENDS_EVERY_MAX = 40
/**
 * If each move is shown, so many polls a second are made beside the one in each period, after at most so many
 * at once. An endpoint may move at another pace than its blocks, as a cache does.
 */
const EXTRA_PER_SECOND = 1
const EXTRA_MAX = 24
const SECOND_MS = 1_000
const APART_MS_MIN = 10
/** Answers take longer or shorter than before: a poll may be too early by this much. */
const SLACK_MS = 10
/** The first move of a counter fell into the period before the poll that showed it. */
const FIRST_PART = 0.9

type Window = { readonly end: number; readonly width: number }

export function createPhase({ periodMs, showsEachMove }: PhaseOptions): Phase {
  /** The move falls between `end - width` and `end`, or whole periods away from there. */
  let window: Window | undefined
  let last: { readonly atMs: number; readonly sign: string | number; readonly changed: boolean } | undefined
  // The last move came before the window: no poll has shown when it had not happened yet.
  let isOpen = false
  let roundTripMs = 0
  let deviationMs = 0
  let periods = 0
  let isEarlyPoll = false
  let bothEndsEvery = BOTH_ENDS_EVERY
  // Polls since the due time that did not show the move.
  let misses = 0
  // When a poll last showed a move.
  let movedMs = Number.NEGATIVE_INFINITY
  let moves = 0
  // The due time of the newest move that a poll has shown.
  let shownMs = Number.NEGATIVE_INFINITY
  const extras = createExtras()

  const mayPollMore = (nowMs: number) => !showsEachMove || extras.take(nowMs)
  const fineMs = (period: number) => Math.max(FINE_MS, period * FINE_PART)
  const lateMs = (period: number) => Math.max(LATE_MS, period * LATE_PART)

  /** The newest due time before this one. */
  const dueBefore = (end: number, atMs: number, period: number) =>
    end + Math.floor((atMs - end) / period) * period

  /** A move fell between these two times. */
  function learn(fromMs: number, toMs: number, period: number): void {
    if (window === undefined && showsEachMove)
      return narrow(Math.max(fromMs, toMs - period * FIRST_PART), toMs, period)
    if (toMs - fromMs >= period) return
    if (window === undefined) return narrow(fromMs, toMs, period)
    const end = window.end + Math.round((toMs - window.end) / period) * period
    const from = Math.max(fromMs, end - window.width)
    const to = Math.min(toMs, end)
    const isBefore = fromMs < from && toMs < from + window.width / 4
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
    const by = elapsedMs * (showsEachMove ? DRIFT_LEARNED : DRIFT)
    const width = window.width + 2 * by
    window = width < period ? { end: window.end + by, width } : undefined
  }

  /**
   * A poll shows the move that was due before it. If that move was shown already, a change shortly before the
   * next due time belongs to the next move.
   */
  function count(atMs: number, changed: boolean, period: number): void {
    if (window === undefined) return
    const passedMs = dueBefore(window.end, atMs, period)
    const isShown = passedMs - shownMs <= period / 2
    const isEarly = changed && isShown && atMs - passedMs > period / 2
    if (isShown && !isEarly) return
    moves++
    shownMs = isEarly ? passedMs + period : passedMs
  }

  /** A move that no poll has shown yet was due. */
  function isDue(atMs: number, period: number | undefined): boolean {
    if (window === undefined || period === undefined) return false
    return dueBefore(window.end, atMs + SLACK_MS, period) > movedMs + period / 2
  }

  /** A time to poll before the move is due at `due`, at which it may have happened already. */
  function earlyMoment({ width }: Window, due: number, isFast: boolean, period: number): number | undefined {
    if ((isFast || showsEachMove) && width > fineMs(period)) return due - width / 2
    return isOpen || periods % bothEndsEvery === 0 ? due - width : undefined
  }

  /** The pause until the move is looked for again; undefined if it is not. */
  function againMs(sinceDueMs: number, isFast: boolean, period: number): number | undefined {
    const leastMs = Math.max(AGAIN_MS, period * AGAIN_PART)
    if (!showsEachMove) return isFast && sinceDueMs < LATE_MS ? leastMs : undefined
    if (misses === 0) return undefined
    return Math.min(leastMs * 2 ** (misses - 1), Math.max(AGAIN_MS_MAX, period * AGAIN_PART_MAX))
  }

  return {
    looked(askedMs, answeredMs, sign, sinceMs = Number.NEGATIVE_INFINITY) {
      const period = periodMs()
      // It was read at some time in between.
      const atMs = (askedMs + answeredMs) / 2
      const errorMs = answeredMs - askedMs - roundTripMs
      roundTripMs += errorMs / 4
      deviationMs += (Math.abs(errorMs) - deviationMs) / 4
      const changed = last !== undefined && last.sign !== sign
      // The poll took the place of the one at the end of the window.
      if (isEarlyPoll && changed) extras.giveBack()
      isEarlyPoll = false
      if (last !== undefined && period !== undefined) {
        drift(Math.max(0, atMs - last.atMs), period)
        if (changed) learn(Math.min(Math.max(last.atMs, sinceMs), atMs), atMs, period)
        count(atMs, changed, period)
      }
      if (changed || last === undefined) movedMs = atMs
      misses = !changed && isDue(atMs, period) ? misses + 1 : 0
      last = { atMs, sign, changed }
    },
    next({ startedMs, nowMs, isFast }) {
      const period = periodMs()
      if (window === undefined || period === undefined) return undefined
      if (showsEachMove && nowMs - movedMs > SILENT_PERIODS * period) return undefined
      const soonestMs = Math.max(nowMs, startedMs + APART_MS_MIN)
      // The lead makes the node answer right when it has moved. A read that comes too early shows nothing, so
      // the lead is shorter where round trips vary.
      const lead = roundTripMs / 2 - deviationMs - 1
      const passed = dueBefore(window.end, soonestMs + lead, period)
      const isMissed = last?.changed === false && last.atMs >= passed - SLACK_MS
      const pauseMs = isMissed ? againMs(soonestMs + lead - passed, isFast, period) : undefined
      if (pauseMs !== undefined) {
        if (mayPollMore(nowMs)) return Math.max(soonestMs, startedMs + pauseMs)
        return Math.min(passed + period - lead, startedMs + SECOND_MS / EXTRA_PER_SECOND)
      }
      periods++
      for (let due = passed + period; ; due += period) {
        const early = earlyMoment(window, due, isFast, period)
        isEarlyPoll = early !== undefined && early - lead > soonestMs && mayPollMore(nowMs)
        if (isEarlyPoll && early !== undefined) return early - lead
        if (due - lead > soonestMs) return due - lead
      }
    },
    get moves() {
      return window && moves
    },
    forget() {
      window = undefined
      last = undefined
      shownMs = Number.NEGATIVE_INFINITY
      misses = 0
    },
  }
}

/** The polls that may be made beside the one in each period. */
function createExtras() {
  let left = EXTRA_MAX
  let takenAtMs: number | undefined
  return {
    /** False if none is left. */
    take(nowMs: number): boolean {
      left = Math.min(EXTRA_MAX, left + ((nowMs - (takenAtMs ?? nowMs)) * EXTRA_PER_SECOND) / SECOND_MS)
      takenAtMs = nowMs
      if (left < 1) return false
      left--
      return true
    },
    giveBack(): void {
      left++
    },
  }
}
