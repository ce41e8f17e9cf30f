import { createLastSecond } from './lastSecond.js'

/**
 * How many units a second an endpoint takes. Without a limit until the endpoint objects, unless one was given. An objection
 * cuts the rate to four fifths of what went through in the last second. It may have been a stray one, since some endpoints
 * object at random: what it says of the limit counts once a second objection agrees with it. Until then the rate doubles
 * back to what was known before. Beyond a known limit it grows slowly, and doubles again where the limit proves too low.
 */
export type LearntRate = {
  /** Units a second; infinite while nothing limits them. */
  readonly perSecond: number
  /** The most that goes through in a second, as far as is known: no less than the rate. */
  readonly mostInSecond: number
  readonly isLimited: boolean
  /** Doubling: it is not known how much goes through. */
  isSearching(nowMs: number): boolean
  /** It is limited, and has grown back to where the endpoint objected before. */
  readonly isNearLimit: boolean
  /** More was wanted than is allowed: the rate may grow. */
  wanted(nowMs: number): void
  /** So many seconds have passed. */
  grow(seconds: number, nowMs: number): void
  /** So many units went through. */
  passed(units: number, nowMs: number): void
  /** What went through in the last second. */
  passedLately(nowMs: number): number
  /** Whether a second with so many more units than went through lately is one that the endpoint has not objected to. */
  isProven(units: number, nowMs: number): boolean
  /**
   * The endpoint objects: the rate is what went through in the last second, times 0.8, or `atMost` where nothing did.
   * `refused`: units that were refused together, so that the limit lies up to so many above what went through.
   */
  cut(nowMs: number, refused: number, atMost: number): void
  /** What had left before the last objection was refused as a whole as well: it was no stray one. */
  confirmed(nowMs: number): void
}

const SECOND_MS = 1_000
const SAFETY = 0.8
/** Parts of the known limit by which the rate grows in a second: below it, and around it. */
const GROWTH = 0.05
const GROWTH_NEAR = 0.01
const NEAR = 0.9
/** Without an objection for so long the growth doubles: the limit was raised, or never was one. */
const GROWTH_DOUBLING_MS = 10_000
const GROWTH_DOUBLINGS_MAX = 20
/** More is wanted as long as something had to wait in this time. */
const WANTED_MS = 1_000
/** A second objection agrees with one that left no room where no more than so many times as much went through. */
const AGREES = 1.5
/** At so many times the limit it is wrong, and the rate doubles; at so many there is none. */
const REFUTED = 1.25
const FORGET = 100
const DOUBLING_S = 0.75
/**
 * Two objections leave at least so much between what went through and what was too much, where little had been asked for
 * before: how much the endpoint takes is searched for so long.
 */
const SEARCH_GAP = 2.5
const SEARCH_MS = 5_000

/** What an objection says of the limit. */
type Objection = {
  /** What the endpoint takes in a second, by what went through. */
  readonly taken: number
  /** No more than so much goes through in a second. */
  readonly most: number
}

/** So much went through in so many seconds, what had been saved up before included. */
type Sample = { readonly passed: number; readonly seconds: number }

type Search = { readonly sinceMs: number; passed: number }

/** `rateMin`: no lower rate is concluded from what went through, since little may have been asked for. */
export function createLearntRate(given: number, rateMin: number): LearntRate {
  const passes = createLastSecond()
  let rate = given
  let limit = given
  let wantedMs = Number.NEGATIVE_INFINITY
  let cutMs = Number.NEGATIVE_INFINITY
  // The limit that two objections agreed on.
  let agreed = given
  let unconfirmed: Objection | undefined
  let proven = 0
  // Of the last cut, with what came within a second of it.
  let sample: Sample = { passed: 0, seconds: 1 }
  // When it began, and what has gone through since a second before.
  let search: Search | undefined

  const isLimited = () => rate !== Number.POSITIVE_INFINITY
  const most = () => Math.min(limit, unconfirmed?.most ?? limit)
  const searched = () => Math.min(given, NEAR * limit)
  const searchAt = (nowMs: number) =>
    search !== undefined && nowMs - search.sinceMs < SEARCH_MS ? search : undefined
  const isSearching = (nowMs: number) =>
    rate < searched() && (unconfirmed !== undefined || searchAt(nowMs) !== undefined)

  /** Whole requests fall into a second, so that one in which the rate held may show a few units more than that. */
  function lastSecond(through: number, nowMs: number): Sample {
    return { passed: nowMs - cutMs < SECOND_MS ? through : Math.min(through, rate), seconds: 1 }
  }

  /**
   * What the rate is concluded from. In a search the last second may show more than the endpoint takes for long: some save
   * up a second's allowance, and let it through beside the next one.
   */
  function sampleOf(through: number, nowMs: number): Sample {
    const found = searchAt(nowMs)
    if (found === undefined) return lastSecond(through, nowMs)
    return { passed: found.passed, seconds: 1 + (nowMs - found.sinceMs) / SECOND_MS }
  }

  function grown(seconds: number, nowMs: number): number {
    const doubled = rate * 2 ** (seconds / DOUBLING_S)
    if (isSearching(nowMs)) return Math.min(searched(), doubled)
    if (rate >= REFUTED * agreed) return doubled
    const doublings = Math.min(GROWTH_DOUBLINGS_MAX, Math.floor((nowMs - cutMs) / GROWTH_DOUBLING_MS))
    const growth = rate < NEAR * limit ? GROWTH : GROWTH_NEAR
    return rate + limit * growth * 2 ** doublings * seconds
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

  /** What an objection says counts. Where that is little the rate doubles on, up to what was too much. */
  function settle(objection: Objection, from: Search): void {
    limit = objection.most
    agreed = limit
    unconfirmed = undefined
    search = objection.taken > 0 && limit >= SEARCH_GAP * objection.taken ? from : undefined
  }

  /** More goes through than the limit. `isLate`: what had left before the cut was still on its way. */
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
      passes.add(units, nowMs)
      if (search) search.passed += units
      const through = passes.sum(nowMs)
      const isMore = through > Math.max(most(), proven)
      proven = Math.max(proven, through)
      const isLate = nowMs - cutMs < SECOND_MS
      if (isLate) sample = { ...sample, passed: sample.passed + units }
      if (isMore) raise(takenIn(through, isLate ? sample : lastSecond(through, nowMs)), isLate)
    },
    passedLately: passes.sum,
    isProven: (units, nowMs) => passes.sum(nowMs) + units <= NEAR * proven,
    cut(nowMs, refused, atMost) {
      const through = passes.sum(nowMs)
      const from = searchAt(nowMs) ?? { sinceMs: nowMs, passed: through }
      sample = sampleOf(through, nowMs)
      const taken = takenIn(through, sample)
      // Part of what went through in the last second may have been saved up.
      const upTo = (through + taken) / 2 + refused - 1
      // No more than what an earlier objection left, unless more has gone through since.
      const objection = { taken, most: Math.max(rateMin, Math.min(limit, upTo)) }
      const safe = through > 0 ? taken * SAFETY : atMost
      rate = Math.max(rateMin, Math.min(rate, safe))
      cutMs = nowMs
      proven = Math.min(proven, through)
      // Where nothing goes through a batch was too large, and not by chance.
      const isTooLarge = taken === 0 && objection.most > rateMin
      // Whoever objects to less than any endpoint takes does so by chance.
      const isLittle = through + refused < rateMin
      if (isTooLarge || (unconfirmed && !isLittle && agrees(taken, unconfirmed)))
        return settle(objection, from)
      unconfirmed = objection
      search = from
    },
    confirmed(nowMs) {
      if (unconfirmed) settle(unconfirmed, searchAt(nowMs) ?? { sinceMs: nowMs, passed: unconfirmed.taken })
    },
  }
}

/** Whether as little went through as the objection had left to be expected. */
function agrees(taken: number, { taken: before, most }: Objection): boolean {
  return taken <= Math.max(AGREES * before, most)
}

/** What an endpoint takes in a second. `through`: in the last one. */
function takenIn(through: number, { passed, seconds }: Sample): number {
  return Math.min(through, Math.max(through / 2, passed / seconds))
}
