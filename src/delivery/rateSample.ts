import { createLastSecond } from './lastSecond.js'

/** Units that passed in a period, including any allowance that had been saved up before it. */
type Sample = { readonly passed: number; readonly seconds: number }

/** A search for the limit, and the units that passed since one second before it. */
export type Search = { readonly sinceMs: number; passed: number }

/** The units that passed: in the last second, around the last cut, and in a search for the limit. */
export type RateSample = {
  /** When the rate was last cut. */
  readonly cutMs: number
  passed(units: number, nowMs: number): void
  passedLately(nowMs: number): number
  /** Units that had left before the last cut may still be on their way. */
  isLate(nowMs: number): boolean
  /** The units that the endpoint accepts per second at present. */
  taken(rate: number, nowMs: number): number
  /** The rate is cut: the units that the endpoint accepted per second until now. */
  cut(rate: number, nowMs: number): number
  /** The search under way. */
  searchAt(nowMs: number): Search | undefined
  /** Continues a search, starts one, or ends it. */
  search(from: Search | undefined): void
}

const SECOND_MS = 1_000
/** The limit is searched for this long. */
const SEARCH_MS = 5_000

export function createRateSample(): RateSample {
  const passes = createLastSecond()
  let cutMs = Number.NEGATIVE_INFINITY
  // The sample of the last cut, including the units that passed within a second after it.
  let sample: Sample = { passed: 0, seconds: 1 }
  let search: Search | undefined

  const isLate = (nowMs: number): boolean => nowMs - cutMs < SECOND_MS
  const searchAt = (nowMs: number): Search | undefined =>
    search !== undefined && nowMs - search.sinceMs < SEARCH_MS ? search : undefined

  /**
   * The sample from which the rate is concluded. In a search the last second may show more than the sustained
   * limit: some endpoints save up a second's allowance and let it pass in addition to the next one.
   */
  function sampleOf(through: number, rate: number, nowMs: number): Sample {
    const found = searchAt(nowMs)
    if (found !== undefined) return { passed: found.passed, seconds: 1 + (nowMs - found.sinceMs) / SECOND_MS }
    return isLate(nowMs) ? { passed: through, seconds: 1 } : atRate(through, rate)
  }

  return {
    get cutMs() {
      return cutMs
    },
    passed(units, nowMs) {
      passes.add(units, nowMs)
      if (search) search.passed += units
      if (isLate(nowMs)) sample = { passed: sample.passed + units, seconds: sample.seconds }
    },
    passedLately: passes.sum,
    isLate,
    taken(rate, nowMs) {
      const through = passes.sum(nowMs)
      return takenIn(through, isLate(nowMs) ? sample : atRate(through, rate))
    },
    cut(rate, nowMs) {
      const through = passes.sum(nowMs)
      sample = sampleOf(through, rate, nowMs)
      cutMs = nowMs
      return takenIn(through, sample)
    },
    searchAt,
    search(from) {
      search = from
    },
  }
}

/**
 * Whole requests count in one second, so a second that kept the rate may show a few units more than the rate.
 */
function atRate(through: number, rate: number): Sample {
  return { passed: Math.min(through, rate), seconds: 1 }
}

/** The units that an endpoint accepts per second. `through`: the units of the last second. */
function takenIn(through: number, { passed, seconds }: Sample): number {
  return Math.min(through, Math.max(through / 2, passed / seconds))
}
