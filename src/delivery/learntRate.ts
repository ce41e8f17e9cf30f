import { createRateSample, type Search } from './rateSample.js'

/**
 * The number of units per second that an endpoint accepts. It is unlimited until the endpoint objects, unless
 * a limit was given. An objection cuts the rate to four fifths of the units that passed in the last second. A
 * single objection may be a stray one, since some endpoints object at random. Its information about the limit
 * therefore counts only after a second objection agrees with it. Until then the rate doubles back to the
 * earlier known value. Beyond a known limit the rate grows slowly, and doubles again if the limit proves too
 * low.
 */
export type LearntRate = {
  /** Units per second; infinite while nothing limits them. */
  readonly perSecond: number
  /** The maximum number of units that pass in a second, as far as known. It is not below the rate. */
  readonly mostInSecond: number
  readonly isLimited: boolean
  /** True while the rate doubles, because the limit is not known yet. */
  isSearching(nowMs: number): boolean
  /** True if the rate is limited, and has grown back to the point of the earlier objection. */
  readonly isNearLimit: boolean
  /** The demand exceeded the rate, so the rate may grow. */
  wanted(nowMs: number): void
  /** Lets the rate grow for this many seconds. */
  grow(seconds: number, nowMs: number): void
  /** Reports units that passed. */
  passed(units: number, nowMs: number): void
  /** The units that passed in the last second. */
  passedLately(nowMs: number): number
  /** Whether the endpoint has already accepted a second in which `units` more passed than in the last one. */
  isProven(units: number, nowMs: number): boolean
  /**
   * The endpoint objects. The new rate is 0.8 times the units that passed in the last second, or `atMost` if
   * none passed. `refused`: the number of units that were refused together, so the limit is at most that far
   * above the units that passed.
   */
  cut(nowMs: number, refused: number, atMost: number): void
  /**
   * A request that had left before the last objection was refused as a whole as well, so that objection was
   * not a stray one.
   */
  confirmed(nowMs: number): void
}

const SAFETY = 0.8
/** Fractions of the known limit by which the rate grows per second: below the limit, and near it. */
const GROWTH = 0.05
const GROWTH_NEAR = 0.01
const NEAR = 0.9
/**
 * After each period of this length without an objection the growth doubles: the limit was raised, or never
 * existed.
 */
const GROWTH_DOUBLING_MS = 10_000
const GROWTH_DOUBLINGS_MAX = 20
/** Demand exceeds the rate as long as a request had to wait within this period. */
const WANTED_MS = 1_000
/** A second objection agrees with one that left no margin if at most this many times as many units passed. */
const AGREES = 1.5
/**
 * At this multiple of the limit the limit is wrong, and the rate doubles. At the second multiple there is no
 * limit.
 */
const REFUTED = 1.25
const FORGET = 100
const DOUBLING_S = 0.75
/**
 * If little had been requested before, two objections leave at least this ratio between the units that passed
 * and the units that were too many. Then the limit is searched.
 */
const SEARCH_GAP = 2.5

/** The information of one objection about the limit. */
type Objection = {
  /** The units that the endpoint accepts per second, judged by the units that passed. */
  readonly taken: number
  /** The upper bound of the units that pass in a second. */
  readonly most: number
}

/** `rateMin`: the lowest rate that is concluded from passed units, since the demand may have been small. */
export function createLearntRate(given: number, rateMin: number): LearntRate {
  const sample = createRateSample()
  let rate = given
  let limit = given
  let wantedMs = Number.NEGATIVE_INFINITY
  // The limit on which two objections agreed.
  let agreed = given
  let unconfirmed: Objection | undefined
  let proven = 0

  const isLimited = () => rate !== Number.POSITIVE_INFINITY
  const most = () => Math.min(limit, unconfirmed?.most ?? limit)
  const searched = () => Math.min(given, NEAR * limit)
  const isSearching = (nowMs: number) =>
    rate < searched() && (unconfirmed !== undefined || sample.searchAt(nowMs) !== undefined)

  function grown(seconds: number, nowMs: number): number {
    const doubled = rate * 2 ** (seconds / DOUBLING_S)
    if (isSearching(nowMs)) return Math.min(searched(), doubled)
    if (rate >= REFUTED * agreed) return doubled
    const periods = Math.floor((nowMs - sample.cutMs) / GROWTH_DOUBLING_MS)
    const growth = rate < NEAR * limit ? GROWTH : GROWTH_NEAR
    return rate + limit * growth * 2 ** Math.min(GROWTH_DOUBLINGS_MAX, periods) * seconds
  }

  function isForgotten(): boolean {
    const tooMuch = Number.isFinite(agreed) ? agreed : unconfirmed?.most
    return tooMuch !== undefined && rate >= FORGET * tooMuch
  }

  function forget(): void {
    rate = given
    limit = given
    agreed = given
    unconfirmed = undefined
  }

  /**
   * Accepts the information of an objection. If it leaves a wide range, the rate keeps doubling up to the
   * upper bound.
   */
  function settle(objection: Objection, from: Search): void {
    limit = objection.most
    agreed = limit
    unconfirmed = undefined
    sample.search(objection.taken > 0 && limit >= SEARCH_GAP * objection.taken ? from : undefined)
  }

  /** More units pass than the limit. `isLate`: units that had left before the cut were still on their way. */
  function raise(taken: number, isLate: boolean): void {
    if (unconfirmed && isLate)
      unconfirmed = { taken: Math.max(unconfirmed.taken, taken), most: Math.max(unconfirmed.most, taken) }
    limit = Math.max(limit, Math.min(given, taken))
    rate = Math.max(rate, Math.min(given, taken * SAFETY))
  }

  return {
    get perSecond() {
      return rate
    },
    get mostInSecond() {
      return Math.max(limit, rate)
    },
    get isLimited() {
      return isLimited()
    },
    isSearching,
    get isNearLimit() {
      return isLimited() && rate >= NEAR * most()
    },
    wanted(nowMs) {
      wantedMs = nowMs
    },
    grow(seconds, nowMs) {
      if (nowMs - wantedMs > WANTED_MS) return
      rate = Math.min(given, grown(seconds, nowMs))
      if (isForgotten()) forget()
    },
    passed(units, nowMs) {
      sample.passed(units, nowMs)
      const through = sample.passedLately(nowMs)
      const isMore = through > Math.max(most(), proven)
      proven = Math.max(proven, through)
      if (isMore) raise(sample.taken(rate, nowMs), sample.isLate(nowMs))
    },
    passedLately: sample.passedLately,
    isProven: (units, nowMs) => sample.passedLately(nowMs) + units <= NEAR * proven,
    cut(nowMs, refused, atMost) {
      const through = sample.passedLately(nowMs)
      const from = sample.searchAt(nowMs) ?? { sinceMs: nowMs, passed: through }
      const taken = sample.cut(rate, nowMs)
      // Some of the units that passed in the last second may have come from a saved-up allowance.
      const upTo = (through + taken) / 2 + refused - 1
      // Not above the bound of an earlier objection, unless more units have passed since.
      const objection = { taken, most: Math.max(rateMin, Math.min(limit, upTo)) }
      const safe = through > 0 ? taken * SAFETY : atMost
      rate = Math.max(rateMin, Math.min(rate, safe))
      proven = Math.min(proven, through)
      // If no unit passes, a batch was too large: that is not a stray objection.
      const isTooLarge = taken === 0 && objection.most > rateMin
      // An endpoint that objects to less than any endpoint accepts does so at random.
      const isLittle = through + refused < rateMin
      if (isTooLarge || (unconfirmed && !isLittle && agrees(taken, unconfirmed)))
        return settle(objection, from)
      unconfirmed = objection
      sample.search(from)
    },
    confirmed(nowMs) {
      if (unconfirmed === undefined) return
      settle(unconfirmed, sample.searchAt(nowMs) ?? { sinceMs: nowMs, passed: unconfirmed.taken })
    },
  }
}

/** Whether no more units passed than the earlier objection allows. */
function agrees(taken: number, { taken: before, most }: Objection): boolean {
  return taken <= Math.max(AGREES * before, most)
}
