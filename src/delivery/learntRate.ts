import { type Belief, createShut, type Objection } from './shutEndpoint.js'

/**
 * The number of units per second that an endpoint accepts. It is unlimited until the endpoint objects, unless
 * a limit was given. An objection cuts the rate to four fifths of the units that passed in the last second. A
 * single objection may be a stray one, since some endpoints object at random. Its information about the limit
 * therefore counts only after a second objection agrees with it. Until then the rate doubles back to the
 * earlier known value. Beyond a known limit the rate grows slowly, and doubles again if the limit proves too
 * low.
 *
 * An endpoint that refuses everything for a while (a ban, a quota, a fault) does not object to the rate. This
 * shows when it accepts as many units as it refused although none had passed for a second. All objections since
 * units had passed are undone then, except the first.
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
  /** Reports units that were refused together. A `cut` may follow. */
  denied(units: number, nowMs: number): void
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

  const belief = (): Belief => ({ rate, limit, agreed, unconfirmed, proven })
  const shut = createShut(belief())
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
      const undone = shut.passed(through, nowMs)
      if (undone) ({ rate, limit, agreed, unconfirmed, proven } = undone)
      const isMore = through > Math.max(most(), proven)
      proven = Math.max(proven, through)
      if (isMore) raise(sample.taken(rate, nowMs), sample.isLate(nowMs))
    },
    passedLately: sample.passedLately,
    isProven: (units, nowMs) => sample.passedLately(nowMs) + units <= NEAR * proven,
    denied(units, nowMs) {
      shut.denied(units, nowMs, belief())
    },
    cut(nowMs, refused, atMost) {
      const through = sample.passedLately(nowMs)
      const from = sample.searchAt(nowMs) ?? { sinceMs: nowMs, passed: through }
      const taken = sample.cut(rate, nowMs)
      const { objection, isBelieved } = judge({ through, taken, refused }, { limit, unconfirmed, rateMin })
      const safe = through > 0 ? taken * SAFETY : atMost
      rate = Math.max(rateMin, Math.min(rate, safe))
      proven = Math.min(proven, through)
      if (isBelieved) settle(objection, from)
      else {
        unconfirmed = objection
        sample.search(from)
      }
      if (through > 0) shut.concluded(belief())
    },
    confirmed(nowMs) {
      if (unconfirmed === undefined) return
      settle(unconfirmed, sample.searchAt(nowMs) ?? { sinceMs: nowMs, passed: unconfirmed.taken })
    },
  }
}

/** The information of an objection, and whether it is certain enough to be a limit. */
function judge(
  { through, taken, refused }: { readonly through: number; readonly taken: number; readonly refused: number },
  { limit, unconfirmed, rateMin }: Pick<Belief, 'limit' | 'unconfirmed'> & { readonly rateMin: number },
): { readonly objection: Objection; readonly isBelieved: boolean } {
  // Some of the units that passed in the last second may have come from a saved-up allowance.
  const upTo = (through + taken) / 2 + refused - 1
  // Not above the bound of an earlier objection, unless more units have passed since.
  const objection = { taken, most: Math.max(rateMin, Math.min(limit, upTo)) }
  // If no unit passes, a batch was too large: that is not a stray objection.
  const isTooLarge = taken === 0 && objection.most > rateMin
  // An endpoint that objects to less than any endpoint accepts does so at random.
  const isLittle = through + refused < rateMin
  const isBelieved = isTooLarge || (unconfirmed !== undefined && !isLittle && agrees(taken, unconfirmed))
  return { objection, isBelieved }
}

/** Whether no more units passed than the earlier objection allows. */
function agrees(taken: number, { taken: before, most }: Objection): boolean {
  return taken <= Math.max(AGREES * before, most)
}

/** Units that passed in a period, including any allowance that had been saved up before it. */
type Sample = { readonly passed: number; readonly seconds: number }

/** A search for the limit, and the units that passed since one second before it. */
type Search = { readonly sinceMs: number; passed: number }

/** The units that passed: in the last second, around the last cut, and in a search for the limit. */
type RateSample = {
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

function createRateSample(): RateSample {
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

/**
 * The units of the last second, in whole milliseconds: at most a thousand entries, for any number of events.
 */
type LastSecond = {
  sum(nowMs: number): number
  add(units: number, nowMs: number): void
  /** Removes units that were added at `atMs`, because they do not count after all. */
  remove(units: number, atMs: number): void
  /** The time from which at most `units` of the present units are younger than a second. */
  roomAt(units: number, nowMs: number): number
}

export function createLastSecond(): LastSecond {
  const entries: { readonly atMs: number; units: number }[] = []
  // The sum of all entries.
  let total = 0

  function sum(nowMs: number): number {
    for (let first = entries[0]; first && first.atMs <= nowMs - SECOND_MS; first = entries[0]) {
      total -= first.units
      entries.shift()
    }
    return total
  }

  return {
    sum,
    add(units, nowMs) {
      sum(nowMs)
      total += units
      const last = entries.at(-1)
      const atMs = Math.ceil(nowMs)
      if (last?.atMs === atMs) last.units += units
      else entries.push({ atMs, units })
    },
    remove(units, addedMs) {
      const atMs = Math.ceil(addedMs)
      const entry = entries.find((each) => each.atMs === atMs)
      if (entry === undefined) return
      entry.units -= units
      total -= units
    },
    roomAt(units, nowMs) {
      let left = sum(nowMs)
      let atMs = nowMs
      for (const entry of entries) {
        if (left <= units) break
        left -= entry.units
        atMs = entry.atMs + SECOND_MS
      }
      return atMs
    },
  }
}
