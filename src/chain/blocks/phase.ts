import { createPhaseWindow, type PhaseWindow } from './phaseWindow.js'

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
  /** A poll that showed nothing of what moves, for example the older block of an endpoint that lags. */
  lookedInVain(askedMs: number, answeredMs: number): void
  /**
   * When to poll next; undefined if the phase is not known. `startedMs`: when the last poll began. `isFast`: a change
   * is about to appear, so that additional polls are worth their price. `isAnnounced`: the endpoint announces each
   * move, so that additional polls are not.
   */
  next(at: {
    readonly startedMs: number
    readonly nowMs: number
    readonly isFast: boolean
    readonly isAnnounced?: boolean
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

/**
 * The pause after a poll without the expected move, as a time and as a part of the period. If each move is
 * shown, the pauses double, because the move is certain to come.
 */
const AGAIN_MS = 20
const AGAIN_PART = 1 / 100
const AGAIN_MS_MAX = 80
const AGAIN_PART_MAX = 1 / 20
/** If a move may stay invisible, polls look for an expected move for this time and a round trip after it was due. */
const EXPECTED_MS = 40
/** After this many periods without a move there is no usable phase. */
const SILENT_PERIODS = 4
/**
 * The rate and the burst of additional polls, beside the one in each period, if each move is shown. An endpoint may
 * move at another pace than its blocks, as a cache does.
 */
const EXTRA_PER_SECOND = 1
const EXTRA_MAX = 24
const SECOND_MS = 1_000
const APART_MS_MIN = 10
/** Answers take longer or shorter than before: a poll may be too early by this much. */
const SLACK_MS = 10

export function createPhase({ periodMs, showsEachMove }: PhaseOptions): Phase {
  const window = createPhaseWindow(showsEachMove)
  let last: { readonly atMs: number; readonly sign: string | number; readonly changed: boolean } | undefined
  let roundTripMs = 0
  let deviationMs = 0
  // The planned poll is not the one at the end of the window.
  let planned: 'begin' | 'again' | undefined
  // Polls since the due time that did not show the move.
  let misses = 0
  // When a poll last showed nothing.
  let vainMs = Number.NEGATIVE_INFINITY
  // When a poll last showed a move.
  let movedMs = Number.NEGATIVE_INFINITY
  const moves = createMoves(window)
  const extras = createExtras()

  /** A move that no poll has shown yet was due. */
  function isDue(atMs: number, period: number | undefined): boolean {
    const dueMs = period && window.dueBefore(atMs + SLACK_MS, period)
    return dueMs !== undefined && period !== undefined && dueMs > movedMs + period / 2
  }

  /** A move that may not be shown is still worth another poll. */
  const isExpected = (sinceDueMs: number) => sinceDueMs < EXPECTED_MS + roundTripMs

  /** The pause before the next poll for the same move; undefined if there is none. */
  function againMs(sinceDueMs: number, isFast: boolean, period: number): number | undefined {
    const leastMs = Math.max(AGAIN_MS, period * AGAIN_PART)
    if (!showsEachMove) return isFast && isExpected(sinceDueMs) ? leastMs : undefined
    if (misses === 0) return undefined
    return Math.min(leastMs * 2 ** (misses - 1), Math.max(AGAIN_MS_MAX, period * AGAIN_PART_MAX))
  }

  return {
    looked(askedMs, answeredMs, sign, sinceMs = Number.NEGATIVE_INFINITY) {
      const period = periodMs()
      // The endpoint read its state at an unknown time between the request and the answer.
      const atMs = (askedMs + answeredMs) / 2
      const errorMs = answeredMs - askedMs - roundTripMs
      roundTripMs += errorMs / 4
      deviationMs += (Math.abs(errorMs) - deviationMs) / 4
      const changed = last !== undefined && last.sign !== sign
      // A poll at the begin of the window that shows the move takes the place of the one at its end.
      if (planned === 'again' || (planned === 'begin' && !changed)) extras.take()
      planned = undefined
      if (last !== undefined && period !== undefined) {
        window.drift(Math.max(0, atMs - last.atMs), period)
        if (changed) window.learn(Math.min(Math.max(last.atMs, sinceMs), atMs), atMs, period)
        moves.looked(atMs, changed, period)
      }
      if (changed || last === undefined) movedMs = atMs
      misses = !changed && isDue(atMs, period) ? misses + 1 : 0
      last = { atMs, sign, changed }
    },
    lookedInVain(askedMs, answeredMs) {
      if (planned !== undefined) extras.take()
      planned = undefined
      vainMs = (askedMs + answeredMs) / 2
      misses++
    },
    next({ startedMs, nowMs, isFast, isAnnounced = false }) {
      const period = periodMs()
      const mayPollMore = !isAnnounced && (!showsEachMove || extras.has(nowMs))
      planned = undefined
      if (period === undefined) return undefined
      if (showsEachMove && nowMs - movedMs > SILENT_PERIODS * period) return undefined
      const soonestMs = Math.max(nowMs, startedMs + APART_MS_MIN)
      // The lead makes the node answer right when it has moved. A read that comes too early shows nothing, so
      // the lead is shorter where round trips vary.
      const lead = roundTripMs / 2 - deviationMs - 1
      const passed = window.dueBefore(soonestMs + lead, period)
      if (passed === undefined) return undefined
      const missedMs = last?.changed === false ? Math.max(last.atMs, vainMs) : vainMs
      const isMissed = missedMs >= passed - SLACK_MS
      // The last poll was answered before the move that is due by now.
      const isUnseen = showsEachMove
        ? movedMs < passed - period / 2
        : isFast && (last?.atMs ?? passed) < passed - SLACK_MS && isExpected(soonestMs + lead - passed)
      if (!isMissed && isUnseen) return soonestMs
      const pauseMs = isMissed ? againMs(soonestMs + lead - passed, isFast, period) : undefined
      if (pauseMs !== undefined) {
        if (mayPollMore) {
          planned = 'again'
          return Math.max(soonestMs, startedMs + pauseMs)
        }
        return Math.min(passed + period - lead, startedMs + SECOND_MS / EXTRA_PER_SECOND)
      }
      window.next()
      for (let due = passed + period; ; due += period) {
        const early = window.earlyMoment(due, isFast || showsEachMove, period)
        if (early !== undefined && early - lead > soonestMs && mayPollMore) {
          planned = 'begin'
          return early - lead
        }
        if (due - lead > soonestMs) return due - lead
      }
    },
    get moves() {
      return window.isKnown ? moves.count : undefined
    },
    forget() {
      window.forget()
      last = undefined
      moves.forget()
      misses = 0
    },
  }
}

/** Counts the moves that were due, as far as polls have shown. */
function createMoves(window: Pick<PhaseWindow, 'dueBefore'>) {
  let count = 0
  // The due time of the newest move that a poll has shown.
  let shownMs = Number.NEGATIVE_INFINITY
  return {
    get count() {
      return count
    },
    /**
     * A poll shows the move that was due before it. If that move was shown already, a change shortly before the
     * next due time belongs to the next move.
     */
    looked(atMs: number, changed: boolean, period: number): void {
      const passedMs = window.dueBefore(atMs, period)
      if (passedMs === undefined) return
      const isShown = passedMs - shownMs <= period / 2
      const isEarly = changed && isShown && atMs - passedMs > period / 2
      if (isShown && !isEarly) return
      count++
      shownMs = isEarly ? passedMs + period : passedMs
    },
    forget(): void {
      shownMs = Number.NEGATIVE_INFINITY
    },
  }
}

/** The polls that may be made beside the one in each period. */
function createExtras() {
  let left = EXTRA_MAX
  let knownAtMs: number | undefined
  return {
    has(nowMs: number): boolean {
      left = Math.min(EXTRA_MAX, left + ((nowMs - (knownAtMs ?? nowMs)) * EXTRA_PER_SECOND) / SECOND_MS)
      knownAtMs = nowMs
      return left >= 1
    },
    take(): void {
      left--
    },
  }
}
