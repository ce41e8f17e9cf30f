import { createTokenBucket } from './tokenBucket.js'

export type RequestEnded = {
  readonly calls: number
  /** Calls that were refused because of a rate limit. All of them: the request was refused as a whole. */
  readonly denied: number
  readonly sentAtMs: number
  readonly atMs: number
  /** `Retry-After`, "try again in", in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

export type BudgetLimits = {
  readonly requestsPerSecond?: number | undefined
  readonly callsPerSecond?: number | undefined
}

/**
 * What one endpoint takes in a second, in requests and in calls, since providers count either: what its denials say of
 * both. Pure.
 */
export type Meters = {
  readonly isLimited: boolean
  /** Nothing is sent before: the endpoint asked for it, or takes nothing at all. */
  readonly blockedUntilMs: number
  take(size: number, nowMs: number): void
  /** When a request with so many calls may leave. */
  dueAt(size: number, nowMs: number): number
  /** Calls that one request may hold now, and if it waits for them. */
  portion(nowMs: number): number
  perSecond(nowMs: number): number
  /** How long requests of that size take all that the endpoint allows. */
  msFor(size: number, nowMs: number): number
  /** Something had to wait. */
  wanted(nowMs: number): void
  ended(request: RequestEnded): void
  /** Infinite while nothing limits them. */
  rates(nowMs: number): { readonly requests: number; readonly calls: number }
}

/** After an objection without a hint, where nothing goes through: doubled each time. */
const PAUSE_MS = 250
const PAUSE_MS_MAX = 15_000
/** The least that is concluded from a denial. Some endpoints take one request a second. */
const REQUESTS = { rateMin: 2, rateLowest: 0.8 }
const CALLS = { rateMin: 5, rateLowest: 3 }

export function createMeters(limits: BudgetLimits): Meters {
  const requests = createTokenBucket(limits.requestsPerSecond, REQUESTS)
  const calls = createTokenBucket(limits.callsPerSecond, CALLS)
  const denialRuns = createDenialRuns()
  let blockedUntilMs = Number.NEGATIVE_INFINITY
  // What left before the last cut says nothing of the rate since then.
  let cutMs = Number.NEGATIVE_INFINITY
  // Requests in a row that were denied as a whole.
  let denials = 0

  /** No rate is low enough for an endpoint that denies at random. */
  function ease(nowMs: number): void {
    requests.ease(nowMs)
    calls.ease(nowMs)
  }

  /** Cuts the meter that the endpoint counts by: the one that was tried beyond its limit, or whose load is new. */
  function cut({ calls: size, denied: refused, atMs }: RequestEnded): void {
    const isWhole = refused === size
    cutMs = atMs
    const units = isWhole ? size : 1
    const atMost = Math.max(1, Math.floor(size / 2))
    const cutCalls = (isDoubtful = false) => calls.cut(atMs, { units, atMost, isDoubtful })
    const cutRequests = () => requests.cut(atMs, { units: 1, atMost: 1, isDoubtful: false })
    if (!isWhole) return cutCalls()
    // Hardly any endpoint takes fewer calls than that: it counts requests, or those too.
    if (calls.rate(atMs) < 2 * CALLS.rateLowest) {
      cutRequests()
      return cutCalls()
    }
    const isCallsNear = calls.isNearLimit(atMs)
    const isRequestsNear = requests.isNearLimit(atMs)
    if (isCallsNear !== isRequestsNear) return isCallsNear ? cutCalls() : cutRequests()
    // Of two that have grown side by side: were it the calls, the next denial would find them alone near their limit.
    if (isCallsNear && isRequestsNear) return cutRequests()
    const maybeCalls = !calls.isProven(size, atMs)
    const maybeRequests = !requests.isProven(1, atMs)
    // A single call that is refused may be either, unless batches went through or calls are known to be counted.
    const hadBatches = calls.passedLately(atMs) >= 2 * requests.passedLately(atMs)
    const isEither = size === 1 && !hadBatches && !calls.isLimited
    const areRequests = maybeRequests && (isEither || !maybeCalls)
    if (areRequests) cutRequests()
    if (maybeCalls || !maybeRequests) cutCalls(areRequests)
  }

  return {
    get isLimited() {
      return requests.isLimited || calls.isLimited
    },
    get blockedUntilMs() {
      return blockedUntilMs
    },
    take(size, nowMs) {
      requests.take(1, nowMs)
      calls.take(size, nowMs)
    },
    dueAt: (size, nowMs) =>
      Math.max(requests.availableAt(1, nowMs), calls.availableAt(size, nowMs), blockedUntilMs),
    portion: (nowMs) => calls.portion(nowMs, 1 / requests.rate(nowMs)),
    perSecond: calls.perSecond,
    msFor: (size, nowMs) => Math.max(size / calls.rate(nowMs), 1 / requests.rate(nowMs)) * 1_000,
    wanted(nowMs) {
      requests.wanted(nowMs)
      calls.wanted(nowMs)
    },
    ended(request) {
      const { calls: size, denied: refused, atMs, sentAtMs, retryAfterMs } = request
      if (sentAtMs >= cutMs) denialRuns.ended(refused === size)
      if (refused < size) {
        requests.passed(1, atMs)
        calls.passed(size - refused, atMs)
        denials = 0
      }
      if (refused === 0) return
      calls.refused(refused, sentAtMs)
      if (refused === size) requests.refused(1, sentAtMs)
      if (retryAfterMs !== undefined) blockedUntilMs = Math.max(blockedUntilMs, atMs + retryAfterMs)
      if (sentAtMs < cutMs) return
      if (refused === size && denialRuns.areRandom) return ease(atMs)
      if (retryAfterMs === undefined && refused === size && calls.passedLately(atMs) === 0)
        blockedUntilMs = Math.max(blockedUntilMs, atMs + Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** denials++))
      cut(request)
    },
    rates: (nowMs) => ({ requests: requests.rate(nowMs), calls: calls.rate(nowMs) }),
  }
}

/** Requests that are looked at; and of each run between two denials, the most that passed in it. */
const DENIALS_SEEN = 8
const RUN_MAX = 6
const RUNS_MIN = 3

/**
 * Whether the endpoint denies at random: several times in a row after a few requests, and three of eight at most. Below a
 * limit a rate that was cut has far longer runs, and above it most requests are denied.
 */
function createDenialRuns() {
  const seen: boolean[] = []
  let passed = 0
  let shortRuns = 0
  return {
    ended(isDenied: boolean): void {
      seen.push(isDenied)
      if (seen.length > DENIALS_SEEN) seen.shift()
      if (!isDenied) {
        passed++
        return
      }
      if (passed > 0) shortRuns = passed <= RUN_MAX ? shortRuns + 1 : 0
      passed = 0
    },
    get areRandom(): boolean {
      const denied = seen.filter(Boolean).length
      return shortRuns >= RUNS_MIN && seen.length === DENIALS_SEEN && 8 * denied <= 3 * DENIALS_SEEN
    },
  }
}
