/** The time between two blocks of an endpoint, learned from their arrivals, or from timestamps that show it. */
export type Period = {
  /** The median over the last blocks. Undefined before the second block. */
  readonly medianMs: number | undefined
  /** The exact time between two blocks, if they come at a steady pace. */
  readonly steadyMs: number | undefined
  /**
   * This block is the newest one for the first time. `seenMs`: when it was read. `unseenMs`: the last poll
   * before that, which did not show it.
   */
  came(block: Stamped, seenMs: number, unseenMs: number): void
  /** Another endpoint is read, which shows its blocks earlier or later. */
  elsewhere(): void
}

export type Stamped = {
  readonly number: number
  /** Seconds since the epoch. */
  readonly timestamp: number
  /** Milliseconds since the epoch, of chains with several blocks in a second. */
  readonly timestampMs?: number | undefined
}

/**
 * The interval between two observed blocks: the number of blocks, and the milliseconds per block by the clock and by
 * timestamps.
 */
type Gap = {
  readonly blocks: number
  readonly seenMs: number
  /** Like `seenMs`, between the middles of the two intervals in which the blocks arrived. */
  readonly cameMs: number
  readonly datedMs: number
  /** The longer of the two intervals in which the blocks arrived. */
  readonly unsureMs: number
  /** The timestamps have milliseconds. */
  readonly isExact: boolean
}

const SECOND_MS = 1_000
/** The number of gaps that are kept. */
const GAPS_MAX = 32
/** The numbers of gaps that show a steady pace: by timestamps in whole seconds, and by their mean. */
const DATED_MIN = 2
const SEEN_MIN = 6
/**
 * By timestamps the period is the shortest gap that at least this fraction of the gaps has. The others are multiples
 * of it. If the timer of a node drifts (anvil, `geth --dev.period`, Hardhat), it crosses a full second now and then,
 * and that gap is a second longer or shorter. At most this fraction of the gaps may be such gaps.
 */
const DATED_PART = 1 / 3
const ROUNDING_MS = 1_000
/** No chain with a steady period has a longer slot. */
const PERIOD_MS_MAX = 60_000
/**
 * Blocks that arrive in less than this part of the time by their timestamps were not made by the clock:
 * Hardhat dates each block of a burst a second after the last one.
 */
const EARLY_PART = 1 / 2
/**
 * At least this part of the gaps is near the median. Polls see a gap longer or shorter, by up to
 * the time between two of them.
 */
const SEEN_PART = 3 / 4
const NEAR_FACTOR = 2.2

export function createPeriod(): Period {
  let last:
    | { readonly block: Stamped; readonly seenMs: number; readonly cameMs: number; readonly unsureMs: number }
    | undefined
  let gaps: readonly Gap[] = []
  const sharp = createSharp()
  let known: { readonly medianMs?: number | undefined; readonly steadyMs?: number | undefined } = {}

  return {
    get medianMs() {
      return known.medianMs
    },
    get steadyMs() {
      return known.steadyMs
    },
    came(block, seenMs, unseenMs) {
      const before = last
      const sinceMs = Math.max(unseenMs, before?.seenMs ?? unseenMs)
      const [cameMs, unsureMs] = [(sinceMs + seenMs) / 2, seenMs - sinceMs]
      last = { block, seenMs, cameMs, unsureMs }
      const blocks = block.number - (before?.block.number ?? block.number)
      if (before === undefined || blocks < 1) return
      const gap: Gap = {
        blocks,
        seenMs: (seenMs - before.seenMs) / blocks,
        cameMs: (cameMs - before.cameMs) / blocks,
        datedMs: (datedMs(block) - datedMs(before.block)) / blocks,
        unsureMs: Math.max(unsureMs, before.unsureMs),
        isExact: block.timestampMs !== undefined && before.block.timestampMs !== undefined,
      }
      gaps = [...gaps, gap].slice(-GAPS_MAX)
      const medianMs = medianOf(gaps.map((each) => each.seenMs))
      const rough = roughly(gaps, medianMs)
      if (rough !== undefined) sharp.came(block.number, { seenMs, unseenMs }, rough.ms)
      known = { medianMs, steadyMs: rough && sharp.refine(rough) }
    },
    elsewhere() {
      last = undefined
      sharp.forget()
    },
  }
}

/** Milliseconds since the epoch, or those of the second. */
export const datedMs = ({ timestamp, timestampMs }: Stamped) => timestampMs ?? timestamp * SECOND_MS

/** A period, and the part of it by which it may be wrong. */
type Rough = { readonly ms: number; readonly error: number }

/** The timers of nodes are exact to a few milliseconds in a block. A mean of few gaps is not. */
const DATED_ERROR = 1 / 500
const MEAN_ERROR = 1 / 10
/** The timers of most nodes are set to multiples of this number of milliseconds. */
const ROUND_MS = 50

function roughly(gaps: readonly Gap[], medianMs: number): Rough | undefined {
  if (medianMs > PERIOD_MS_MAX) return undefined
  const isExact = gaps.every((gap) => gap.isExact)
  const secondsMs = isExact ? undefined : bySeconds(gaps, medianMs)
  if (secondsMs !== undefined) return { ms: secondsMs, error: DATED_ERROR }
  const ms = isExact
    ? byMean(gaps, (gap) => gap.datedMs)
    : rounded(
        byMean(gaps, (gap) => gap.cameMs),
        gaps,
      )
  return ms === undefined || medianMs < ms * EARLY_PART ? undefined : { ms, error: MEAN_ERROR }
}

/** The mean of few gaps may be wrong by this much, because polls see each block a while after it came. */
function meanErrorMs(gaps: readonly Gap[]): number {
  // The time at which the very first block came is unknown, and the mean leaves out its gap.
  const seen = gaps.filter((gap) => Number.isFinite(gap.unsureMs))
  const blocks = seen.reduce((sum, gap) => sum + gap.blocks, 0)
  return ((seen[0]?.unsureMs ?? 0) + (seen[seen.length - 1]?.unsureMs ?? 0)) / 2 / blocks
}

function bySeconds(gaps: readonly Gap[], medianMs: number): number | undefined {
  if (gaps.length < DATED_MIN) return undefined
  const dated = gaps.map((gap) => gap.datedMs)
  const part = (is: (ms: number) => boolean) => dated.filter(is).length / dated.length
  const blocks = gaps.reduce((sum, gap) => sum + gap.blocks, 0)
  const sumMs = gaps.reduce((sum, gap) => sum + gap.blocks * gap.datedMs, 0)
  return [...new Set(dated)]
    .sort((a, b) => a - b)
    .find(
      (ms) =>
        ms >= SECOND_MS &&
        ms <= PERIOD_MS_MAX &&
        medianMs >= ms * EARLY_PART &&
        part((each) => each === ms) >= DATED_PART &&
        part((each) => each % ms !== 0) <= DATED_PART &&
        // Most blocks of 750 ms are dated a second apart, but not all of them.
        sumMs >= blocks * ms - ROUNDING_MS &&
        dated.every((each) => distanceMs(each, ms) <= ROUNDING_MS),
    )
}

/** How far the gap is from whole periods, of which there is at least one. */
function distanceMs(gapMs: number, periodMs: number): number {
  return Math.abs(gapMs - Math.max(1, Math.round(gapMs / periodMs)) * periodMs)
}

/** The mean of the gaps near the median: polls lengthen one gap by as much as they shorten the next. */
function byMean(gaps: readonly Gap[], msOf: (gap: Gap) => number): number | undefined {
  if (gaps.length < SEEN_MIN) return undefined
  const medianMs = medianOf(gaps.map(msOf))
  const near = gaps.filter(
    (gap) => msOf(gap) >= medianMs / NEAR_FACTOR && msOf(gap) <= medianMs * NEAR_FACTOR,
  )
  if (medianMs <= 0 || near.length < gaps.length * SEEN_PART) return undefined
  const blocks = near.reduce((sum, gap) => sum + gap.blocks, 0)
  return near.reduce((sum, gap) => sum + gap.blocks * msOf(gap), 0) / blocks
}

/** The round number near the mean, if the mean may be wrong by the difference. */
function rounded(ms: number | undefined, gaps: readonly Gap[]): number | undefined {
  if (ms === undefined) return undefined
  const roundMs = Math.round(ms / ROUND_MS) * ROUND_MS
  return Math.abs(roundMs - ms) <= Math.min(meanErrorMs(gaps), ms * MEAN_ERROR) ? roundMs : ms
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? upper)) / 2
}

/** Blocks whose arrival is known to this time, or to this part of the period, if that is longer. */
const SHARP_MS = 30
const SHARP_PART = 1 / 50
const SHARP_MAX = 16
/** The minimum distance of two such blocks, in blocks, at which they show the period. */
const SHARP_APART = 8
/** Arrivals that are spread more widely show nothing. */
const SPREAD_MS = 40
const SPREAD_PART = 1 / 100
/** A block that arrives off its time by this fraction of a period shows that the node has changed its schedule. */
const SHIFT_PART = 3 / 5

type SharpBlock = { readonly number: number; readonly atMs: number }

/** Refines a period by blocks that are far apart and whose arrivals are known well. */
function createSharp() {
  let blocks: readonly SharpBlock[] = []
  let refinedMs: number | undefined
  let last: { readonly number: number; readonly unseenMs: number; readonly seenMs: number } | undefined

  return {
    came(
      number: number,
      { seenMs, unseenMs }: { readonly seenMs: number; readonly unseenMs: number },
      periodMs: number,
    ): void {
      const dueMs = (number - (last?.number ?? number)) * periodMs
      const isLate = unseenMs - (last?.seenMs ?? unseenMs) > dueMs + periodMs * SHIFT_PART
      const isEarly = seenMs - (last?.unseenMs ?? seenMs) < dueMs - periodMs * SHIFT_PART
      if (isLate || isEarly) blocks = []
      last = { number, unseenMs, seenMs }
      if (seenMs - unseenMs > Math.max(SHARP_MS, periodMs * SHARP_PART)) return
      blocks = [...blocks, { number, atMs: (seenMs + unseenMs) / 2 }].slice(-SHARP_MAX)
    },
    /** If the blocks show nothing now, the former result holds as long as it is not contradicted. */
    refine({ ms, error }: Rough): number {
      refinedMs = slopeOf(blocks, ms) ?? refinedMs
      return refinedMs !== undefined && Math.abs(refinedMs - ms) <= ms * error ? refinedMs : ms
    },
    forget(): void {
      blocks = []
      last = undefined
    },
  }
}

/** The median time for each block between pairs that are far apart; undefined if they are not in a line. */
function slopeOf(blocks: readonly SharpBlock[], periodMs: number): number | undefined {
  const [first, newest] = [blocks[0], blocks[blocks.length - 1]]
  const apart = Math.max(SHARP_APART, ((newest?.number ?? 0) - (first?.number ?? 0)) / 2)
  const slopes = blocks.flatMap((one, index) =>
    blocks
      .slice(index + 1)
      .filter(({ number }) => number - one.number >= apart)
      .map(({ number, atMs }) => (atMs - one.atMs) / (number - one.number)),
  )
  if (slopes.length === 0) return undefined
  const slope = medianOf(slopes)
  const offsets = blocks.map(({ number, atMs }) => atMs - number * slope)
  const middle = medianOf(offsets)
  const spreadMs = medianOf(offsets.map((offset) => Math.abs(offset - middle)))
  return spreadMs <= Math.max(SPREAD_MS, periodMs * SPREAD_PART) ? slope : undefined
}
