/**
 * Predicts when the next block appears, on a chain whose blocks come at a steady pace by their own
 * timestamps. There is no prediction for a chain with less than a second between blocks, because timestamps
 * are whole seconds. Correctness does not depend on it: a wrong prediction costs a few polls.
 */
export type BlockPhase = {
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
