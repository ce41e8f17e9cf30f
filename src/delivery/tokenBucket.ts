/**
 * One meter of an endpoint: how many units a second it takes. Without a limit until the endpoint objects, unless one was
 * given. Then four fifths of what went through in the last second is the rate, which grows again while more is wanted. An
 * objection that says little of the limit is followed by a search, in which the rate doubles until the next objection.
 */
export type TokenBucket = {
  /** Units a second; infinite while nothing limits them. The tokens, and the rate, grow up to now, as with every call. */
  rate(nowMs: number): number
  readonly isLimited: boolean
  /** Whole units that one request may hold now. */
  portion(nowMs: number): number
  /** Whole units that one request may hold if it waits for them. */
  perSecond(nowMs: number): number
  /** When so many units may leave together. They are saved up from now on. */
  availableAt(units: number, nowMs: number): number
  take(units: number, nowMs: number): void
  /** More was wanted than is there: the rate may grow. */
  wanted(nowMs: number): void
  /** So many units went through. */
  passed(units: number, nowMs: number): void
  /** So many units that were taken at `takenMs` were refused, and are not counted by the endpoint. */
  refused(units: number, takenMs: number): void
  /** What went through in the last second. */
  passedLately(nowMs: number): number
  /** Whether a second with so many more units than went through lately is one that the endpoint has not objected to. */
  isProven(units: number, nowMs: number): boolean
  /** It is limited, and the rate has grown back to where the endpoint objected before. */
  isNearLimit(nowMs: number): boolean
  /**
   * The endpoint objects: the rate is what went through in the last second, times 0.8, or `atMost` where nothing did.
   * `refused`: units that were refused together, so that the limit lies up to so many above what went through.
   */
  cut(nowMs: number, refused: number, atMost: number): void
}

const SECOND_MS = 1_000
const SAFETY = 0.8
/** Rate and burst together stay within what went through in a second. */
const BURST_S = 0.25
/** At the lowest rates a request for each unit would be many requests. */
const BURST_MIN = 2
/** Parts of the known limit by which the rate grows in a second: below it, and around it. */
const GROWTH = 0.05
const GROWTH_NEAR = 0.01
const NEAR = 0.9
/**
 * An objection leaves at least so much between what went through and what was too much, where little had been asked for
 * before: how much the endpoint takes is searched for so long, with a rate that doubles in this time.
 */
const SEARCH_GAP = 2.5
const SEARCH_MS = 5_000
const SEARCH_DOUBLING_S = 0.5
/** Small requests find the limit more exactly, and little is refused at once. */
const SEARCH_PORTION_S = 0.05
const SEARCH_SAFETY = 0.9
/** Without an objection for so long the growth doubles: the limit was raised, or never was one. */
const DOUBLING_MS = 10_000
const DOUBLINGS_MAX = 20
/** At so many times the limit there is none. */
const FORGET = 100
/** More is wanted as long as something had to wait in this time. */
const WANTED_MS = 1_000

/** `rateMin`: no lower rate is concluded from what went through, since little may have been asked for. */
export function createTokenBucket(
  given = Number.POSITIVE_INFINITY,
  { rateMin: least = 1 }: { readonly rateMin?: number } = {},
): TokenBucket {
  const rateMin = Math.min(given, least)
  let rate = given
  let limit = given
  let tokens = Number.POSITIVE_INFINITY
  // Units that a request waits for.
  let savedFor = 0
  let filledMs = Number.NEGATIVE_INFINITY
  let wantedMs = Number.NEGATIVE_INFINITY
  let cutMs = Number.NEGATIVE_INFINITY
  let cutLimit = limit
  let proven = 0
  // Of the last cut, with what came within a second of it.
  let sample: Sample = { passed: 0, seconds: 1 }
  // When it began, and what has gone through since a second before.
  let search: { readonly sinceMs: number; passed: number } | undefined
  const passes = createLog()
  const takes = createLog()

  const isLimited = () => rate !== Number.POSITIVE_INFINITY
  const wholeUnits = (seconds: number) =>
    isLimited() ? Math.max(Math.min(given, BURST_MIN), Math.floor(rate * seconds)) : Number.POSITIVE_INFINITY
  const burst = () => wholeUnits(BURST_S)
  const searchAt = (nowMs: number) =>
    search !== undefined && nowMs - search.sinceMs < SEARCH_MS ? search : undefined

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

  function grow(seconds: number, nowMs: number): void {
    if (nowMs - wantedMs > WANTED_MS) return
    const searched = Math.min(given, NEAR * limit)
    if (searchAt(nowMs) !== undefined && rate < searched) {
      rate = Math.min(searched, rate * 2 ** (seconds / SEARCH_DOUBLING_S))
      return
    }
    const doublings = Math.min(DOUBLINGS_MAX, Math.floor((nowMs - cutMs) / DOUBLING_MS))
    const growth = rate < NEAR * limit ? GROWTH : GROWTH_NEAR
    rate = Math.min(given, rate + limit * growth * 2 ** doublings * seconds)
    if (rate < FORGET * cutLimit) return
    rate = given
    limit = given
  }

  function fill(nowMs: number): void {
    if (!isLimited()) return
    const seconds = Math.max(0, nowMs - filledMs) / SECOND_MS
    filledMs = Math.max(filledMs, nowMs)
    const most = Math.max(burst(), savedFor, tokens)
    tokens = seconds === Number.POSITIVE_INFINITY ? burst() : Math.min(most, tokens + rate * seconds)
    if (Number.isFinite(seconds)) grow(seconds, nowMs)
  }

  /** A smaller request fills up what is left of a second, rather than wait until a whole one fits. */
  function fitting(nowMs: number): number {
    const left = Math.floor(Math.max(limit, rate) - takes.sum(nowMs))
    return left >= burst() / 2 ? Math.min(burst(), left) : burst()
  }

  /** When so many more units in one second are no more than the endpoint takes in one. */
  function windowFreeAt(units: number, nowMs: number): number {
    return takes.roomAt(Math.max(limit, rate, units) - units, nowMs)
  }

  return {
    rate(nowMs) {
      fill(nowMs)
      return rate
    },
    get isLimited() {
      return isLimited()
    },
    portion(nowMs) {
      fill(nowMs)
      if (!isLimited()) return Number.POSITIVE_INFINITY
      if (searchAt(nowMs) === undefined) return fitting(nowMs)
      return Math.min(burst(), Math.max(wholeUnits(SEARCH_PORTION_S), Math.floor(tokens)))
    },
    perSecond(nowMs) {
      fill(nowMs)
      return Math.max(burst(), Math.floor(Math.min(limit, rate)))
    },
    availableAt(units, nowMs) {
      fill(nowMs)
      if (!isLimited()) return nowMs
      savedFor = units
      const lacking = units - tokens
      const tokensMs = lacking <= 1e-9 ? nowMs : nowMs + (lacking / rate) * SECOND_MS
      return Math.max(tokensMs, windowFreeAt(units, nowMs))
    },
    take(units, nowMs) {
      fill(nowMs)
      savedFor = 0
      takes.add(units, nowMs)
      tokens -= units
    },
    wanted(nowMs) {
      wantedMs = nowMs
    },
    passed(units, nowMs) {
      passes.add(units, nowMs)
      if (search) search.passed += units
      const through = passes.sum(nowMs)
      const isMore = through > Math.max(limit, proven)
      proven = Math.max(proven, through)
      const isLate = nowMs - cutMs < SECOND_MS
      if (isLate) sample = { ...sample, passed: sample.passed + units }
      if (!isMore) return
      // What had left before the cut was still on its way: the limit is higher than it seemed.
      const taken = takenIn(through, isLate ? sample : lastSecond(through, nowMs))
      limit = Math.max(limit, Math.min(given, taken))
      rate = Math.max(rate, Math.min(given, taken * SAFETY))
    },
    refused: takes.remove,
    passedLately: passes.sum,
    isNearLimit(nowMs) {
      fill(nowMs)
      return isLimited() && rate >= NEAR * limit
    },
    isProven: (units, nowMs) => passes.sum(nowMs) + units <= NEAR * proven,
    cut(nowMs, refused, atMost) {
      const through = passes.sum(nowMs)
      const found = searchAt(nowMs)
      sample = sampleOf(through, nowMs)
      const taken = takenIn(through, sample)
      // No more than what an earlier objection left, unless more has gone through since.
      limit = Math.max(rateMin, Math.min(limit, taken + refused - 1))
      cutLimit = limit
      const safe = taken * (found ? SEARCH_SAFETY : SAFETY)
      rate = Math.max(rateMin, Math.min(rate, through > 0 ? safe : atMost))
      const isOpen = through > 0 && limit >= SEARCH_GAP * taken
      search = isOpen ? (found ?? { sinceMs: nowMs, passed: through }) : undefined
      cutMs = nowMs
      filledMs = nowMs
      proven = Math.min(proven, through)
      tokens = 0
    },
  }
}

/** So much went through in so many seconds, what had been saved up before included. */
type Sample = { readonly passed: number; readonly seconds: number }

/** What an endpoint takes in a second. `through`: in the last one. */
function takenIn(through: number, { passed, seconds }: Sample): number {
  return Math.min(through, Math.max(through / 2, passed / seconds))
}

/** What happened in the last second, in whole milliseconds: no more than a thousand entries, however much happens. */
function createLog() {
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
    add(units: number, nowMs: number): void {
      sum(nowMs)
      total += units
      const last = entries.at(-1)
      const atMs = Math.ceil(nowMs)
      if (last?.atMs === atMs) last.units += units
      else entries.push({ atMs, units })
    },
    remove(units: number, takenMs: number): void {
      const atMs = Math.ceil(takenMs)
      const entry = entries.find((each) => each.atMs === atMs)
      if (entry === undefined) return
      entry.units -= units
      total -= units
    },
    /** When no more than `units` of what is here is younger than a second. */
    roomAt(units: number, nowMs: number): number {
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
