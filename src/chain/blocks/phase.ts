/**
 * Decides when to poll a pending block that is rebuilt at a steady pace: soon after it was built, with hardly
 * more polls than refreshes. The time of the refresh within the period is narrowed down by pairs of polls:
 * one shows no change and the next one does. Correctness does not depend on it: a wrong estimate costs a
 * period, never a poll.
 */
type Phase = {
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
  let deviationMs = 0
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
      const errorMs = answeredMs - askedMs - roundTripMs
      roundTripMs += errorMs / 4
      deviationMs += (Math.abs(errorMs) - deviationMs) / 4
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
      // The lead makes the node read the block right when it is there. A read that comes too early shows
      // nothing, so the lead is shorter where round trips vary.
      const lead = roundTripMs / 2 - deviationMs - 1
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

/**
 * Predicts when the next block appears, on a chain whose blocks come at a steady pace by their own
 * timestamps. There is no prediction for a chain with less than a second between blocks, because timestamps
 * are whole seconds. Correctness does not depend on it: a wrong prediction costs a few polls.
 */
type BlockPhase = {
  /** A poll that started at `askedMs` showed this newest block, and it is the head. */
  looked(askedMs: number, newest: Pick<Stamp, 'number' | 'timestamp'>): void
  /** When to poll next, if the last poll started at `startedMs`. Undefined if the pace is not steady. */
  next(startedMs: number): number | undefined
  /** Another endpoint is read, which shows its blocks at other times. */
  forget(): void
}

/** `seenMs`: when a poll first showed the block, or the time from which the next block is expected. */
type Stamp = { readonly number: number; readonly timestamp: number; readonly seenMs: number }

const SECOND_MS = 1_000
/** The number of steps between seen blocks that are needed, and that are kept. */
const STEPS_MIN = 2
const STEPS_MAX = 16
/**
 * The period is the shortest step that at least this part of the steps has. The others are multiples of it.
 * A timer of the node that drifts (anvil, `geth --dev.period`, Hardhat) crosses a full second now and then,
 * and this step is a second longer or shorter: at most this part of the steps may be.
 */
const STEPS_PART = 1 / 3
const ROUNDING_S = 1
/** No chain with a steady period has a longer slot. */
const PERIOD_S_MAX = 60
/**
 * After a poll without the expected block, the next poll follows after this fraction of the period. The pause
 * doubles each time.
 */
const MISS_PART = 1 / 100
const MISS_MS_MIN = 20
const MISS_PART_MAX = 1 / 20
/**
 * If a block was there at the first poll, the next block is polled earlier by this fraction of the first
 * pause.
 */
const EARLIER_PART = 1 / 8
/**
 * A block that appears earlier than its predecessor by this fraction of the period was not made by the clock:
 * Hardhat dates each block of a burst a second after the last one.
 */
const EARLY_PART_MAX = 1 / 2
/** After this many periods without a block there is no usable pace. */
const SILENT_PERIODS = 4

export function createBlockPhase(): BlockPhase {
  let last: Stamp | undefined
  let steps: readonly number[] = []
  // Polls after the due time that did not show the block.
  let misses = 0

  /** The period in seconds. */
  function periodS(): number | undefined {
    if (steps.length < STEPS_MIN) return undefined
    const part = (is: (step: number) => boolean) => steps.filter(is).length / steps.length
    return [...new Set(steps)]
      .sort((a, b) => a - b)
      .find(
        (period) =>
          period >= 1 &&
          period <= PERIOD_S_MAX &&
          part((step) => step === period) >= STEPS_PART &&
          part((step) => step % period !== 0) <= STEPS_PART &&
          steps.every((step) => distanceS(step, period) <= ROUNDING_S),
      )
  }

  const missMs = (periodMs: number) => Math.max(MISS_MS_MIN, periodMs * MISS_PART)

  function came(before: Stamp, now: Stamp, period: number | undefined): void {
    const elapsedS = now.timestamp - before.timestamp
    const step = elapsedS / (now.number - before.number)
    const dueS = period === undefined ? elapsedS : slotsBetween(before, now, period) * period
    const expectedMs = before.seenMs + dueS * SECOND_MS
    const isEarly = now.seenMs < expectedMs - step * SECOND_MS * EARLY_PART_MAX
    steps = isEarly ? [] : [...steps, step].slice(-STEPS_MAX)
    const isAtOnce = period !== undefined && misses === 0
    const earlierMs = missMs((period ?? 0) * SECOND_MS) * EARLIER_PART
    last = isAtOnce ? { ...now, seenMs: Math.min(expectedMs - earlierMs, now.seenMs) } : now
    misses = 0
  }

  return {
    looked(askedMs, { number, timestamp }) {
      const seen: Stamp = { number, timestamp, seenMs: askedMs }
      const period = periodS()
      if (last !== undefined && number > last.number) return came(last, seen, period)
      if (last !== undefined && number === last.number) {
        if (period !== undefined && askedMs >= last.seenMs + period * SECOND_MS) misses++
        return
      }
      // The first block, or the chain was cut back.
      last = seen
      misses = 0
    },
    next(startedMs) {
      const period = periodS()
      if (last === undefined || period === undefined) return undefined
      const periodMs = period * SECOND_MS
      const due = last.seenMs + periodMs
      if (startedMs >= due + SILENT_PERIODS * periodMs) return undefined
      if (misses === 0) return due
      return startedMs + Math.min(missMs(periodMs) * 2 ** (misses - 1), periodMs * MISS_PART_MAX)
    },
    forget() {
      last = undefined
      steps = []
      misses = 0
    },
  }
}

/** How far the step is from whole periods, of which there is at least one. */
function distanceS(step: number, period: number): number {
  return Math.abs(step - Math.max(1, Math.round(step / period)) * period)
}

/** The periods between two blocks by the timestamps, and by the polls where a second of rounding leaves two. */
function slotsBetween(before: Stamp, now: Stamp, period: number): number {
  const elapsedS = now.timestamp - before.timestamp
  if (elapsedS % period === 0) return Math.max(1, elapsedS / period)
  const fewest = Math.max(1, Math.ceil((elapsedS - ROUNDING_S) / period))
  const most = Math.max(fewest, Math.floor((elapsedS + ROUNDING_S) / period))
  const byPolls = Math.round((now.seenMs - before.seenMs) / (period * SECOND_MS))
  return Math.min(Math.max(byPolls, fewest), most)
}
