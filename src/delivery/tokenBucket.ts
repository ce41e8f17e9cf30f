import { createLastSecond, createLearntRate, type LearntRate } from './learntRate.js'

/**
 * One meter of an endpoint: it decides how many units may leave together, and when, at the known rate of the
 * endpoint. Each call first updates the tokens and the rate to the given time.
 */
export type TokenBucket = Pick<
  LearntRate,
  'isLimited' | 'wanted' | 'passed' | 'passedLately' | 'isProven' | 'denied' | 'cut' | 'confirmed'
> & {
  /** Units per second; infinite while nothing limits them. */
  rate(nowMs: number): number
  /** Whole units that one request may hold now. */
  portion(nowMs: number): number
  /** Whole units that one request may hold if it waits for them. */
  perSecond(nowMs: number): number
  /** When this many units may leave together. Tokens are saved up for them from now on. */
  availableAt(units: number, nowMs: number): number
  take(units: number, nowMs: number): void
  /** Units that were taken at `takenMs` were refused, and the endpoint does not count them. */
  refused(units: number, takenMs: number): void
  /** The rate has grown back to the point of the earlier objection. */
  isNearLimit(nowMs: number): boolean
}

const SECOND_MS = 1_000
/** Rate and burst together stay within the units that passed in a second. */
const BURST_S = 0.25
/** At the lowest rates, one request per unit would mean many requests. */
const BURST_MIN = 2
/** Small requests find the limit more exactly, and lose little at once. */
const SEARCH_PORTION_S = 0.05

/** `rateMin`: the lowest rate that is concluded from passed units, since the demand may have been small. */
export function createTokenBucket(
  given = Number.POSITIVE_INFINITY,
  { rateMin = 1 }: { readonly rateMin?: number } = {},
): TokenBucket {
  const rate = createLearntRate(given, Math.min(given, rateMin))
  const takes = createLastSecond()
  let tokens = Number.POSITIVE_INFINITY
  // The number of units that a request waits for.
  let savedFor = 0
  let filledMs = Number.NEGATIVE_INFINITY

  const wholeUnits = (seconds: number) =>
    rate.isLimited
      ? Math.max(Math.min(given, BURST_MIN), Math.floor(rate.perSecond * seconds))
      : Number.POSITIVE_INFINITY
  const burst = () => wholeUnits(BURST_S)

  function fill(nowMs: number): void {
    if (!rate.isLimited) return
    const seconds = Math.max(0, nowMs - filledMs) / SECOND_MS
    filledMs = Math.max(filledMs, nowMs)
    const most = Math.max(burst(), savedFor, tokens)
    tokens =
      seconds === Number.POSITIVE_INFINITY ? burst() : Math.min(most, tokens + rate.perSecond * seconds)
    if (Number.isFinite(seconds)) rate.grow(seconds, nowMs)
  }

  /** A smaller request uses the remainder of a second, instead of waiting until a whole one fits. */
  function fitting(nowMs: number): number {
    const left = Math.floor(rate.mostInSecond - takes.sum(nowMs))
    return left >= burst() / 2 ? Math.min(burst(), left) : burst()
  }

  /** When this many more units in one second stay within the endpoint's maximum per second. */
  function windowFreeAt(units: number, nowMs: number): number {
    return takes.roomAt(Math.max(rate.mostInSecond, units) - units, nowMs)
  }

  return {
    rate(nowMs) {
      fill(nowMs)
      return rate.perSecond
    },
    get isLimited() {
      return rate.isLimited
    },
    portion(nowMs) {
      fill(nowMs)
      if (!rate.isLimited) return Number.POSITIVE_INFINITY
      if (!rate.isSearching(nowMs)) return fitting(nowMs)
      return Math.min(burst(), Math.max(wholeUnits(SEARCH_PORTION_S), Math.floor(tokens)))
    },
    perSecond(nowMs) {
      fill(nowMs)
      return Math.max(burst(), Math.floor(rate.perSecond))
    },
    availableAt(units, nowMs) {
      fill(nowMs)
      if (!rate.isLimited) return nowMs
      savedFor = units
      const lacking = units - tokens
      const tokensMs = lacking <= 1e-9 ? nowMs : nowMs + (lacking / rate.perSecond) * SECOND_MS
      return Math.max(tokensMs, windowFreeAt(units, nowMs))
    },
    take(units, nowMs) {
      fill(nowMs)
      savedFor = 0
      takes.add(units, nowMs)
      tokens -= units
    },
    refused: takes.remove,
    isNearLimit(nowMs) {
      fill(nowMs)
      return rate.isNearLimit
    },
    wanted: rate.wanted,
    passed: rate.passed,
    passedLately: rate.passedLately,
    isProven: rate.isProven,
    denied: rate.denied,
    cut(nowMs, refused, atMost) {
      rate.cut(nowMs, refused, atMost)
      filledMs = nowMs
      tokens = 0
    },
    confirmed: rate.confirmed,
  }
}
