/**
 * When the next block is likely to be there, on a chain whose blocks come at a steady pace by their own timestamps. A
 * chain with less than a second between blocks has none: timestamps are whole seconds. Nothing rests on it: what it gets
 * wrong costs a few looks.
 */
export type BlockPhase = {
  /** A look that began at `askedMs` showed this newest block, and it is the head. */
  looked(askedMs: number, newest: Pick<Stamp, 'number' | 'timestamp'>): void
  /** When to look next, where the last look began at `startedMs`; undefined where the pace is not steady. */
  next(startedMs: number): number | undefined
  /** Another endpoint is read, which shows its blocks at other moments. */
  forget(): void
}

type Stamp = { readonly number: number; readonly timestamp: number; readonly lateMs: number }

const SECOND_MS = 1_000
/** Steps from one block seen to the next, of which the shortest is the period and the others are multiples of it. */
const STEPS_MIN = 2
const STEPS_MAX = 16
/** No slot of a chain with a steady period is longer. */
const PERIOD_S_MAX = 60
/** A block that was not there is looked for again after this part of the period, doubled each time. */
const MISS_PART = 1 / 100
const MISS_MS_MIN = 20
const MISS_PART_MAX = 1 / 20
/** Each block that was there at once is looked for earlier the next time, by this part of the first pause. */
const EARLIER_PART = 1 / 8
/**
 * A block that is there by this part of the period earlier than the one before was not made by the clock: Hardhat dates
 * each block of a burst a second after the last one.
 */
const EARLY_PART_MAX = 1 / 2
/** After so many periods without a block there is no pace to go by. */
const SILENT_PERIODS = 4

export function createBlockPhase(): BlockPhase {
  let last: Stamp | undefined
  let steps: readonly number[] = []
  // Looks that came after the block was due, and did not show it.
  let misses = 0

  /** Seconds from one block to the next. */
  function periodS(): number | undefined {
    const period = Math.min(...steps)
    const isSteady = steps.length >= STEPS_MIN && period >= 1 && period <= PERIOD_S_MAX
    return isSteady && steps.every((step) => step % period === 0) ? period : undefined
  }

  const missMs = (periodMs: number) => Math.max(MISS_MS_MIN, periodMs * MISS_PART)
  const dueMs = ({ timestamp, lateMs }: Stamp, periodMs: number) => timestamp * SECOND_MS + lateMs + periodMs

  function came(before: Stamp, now: Stamp): void {
    const step = (now.timestamp - before.timestamp) / (now.number - before.number)
    const isEarly = now.lateMs < before.lateMs - step * SECOND_MS * EARLY_PART_MAX
    steps = isEarly ? [] : [...steps, step].slice(-STEPS_MAX)
  }

  return {
    looked(askedMs, { number, timestamp }) {
      const seen: Stamp = { number, timestamp, lateMs: askedMs - timestamp * SECOND_MS }
      // The first one, or the chain was cut back.
      if (last === undefined || number < last.number) {
        last = seen
        misses = 0
        return
      }
      const period = periodS()
      const periodMs = (period ?? 0) * SECOND_MS
      if (number === last.number) {
        if (period !== undefined && askedMs >= dueMs(last, periodMs)) misses++
        return
      }
      const earlierMs = last.lateMs - missMs(periodMs) * EARLIER_PART
      const isAtOnce = period !== undefined && misses === 0
      came(last, seen)
      last = isAtOnce ? { ...seen, lateMs: Math.min(earlierMs, seen.lateMs) } : seen
      misses = 0
    },
    next(startedMs) {
      const period = periodS()
      if (last === undefined || period === undefined) return undefined
      const periodMs = period * SECOND_MS
      const due = dueMs(last, periodMs)
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
