import { createTokenBucket } from './tokenBucket.js'

export type BudgetLimits = {
  readonly requestsPerSecond?: number | undefined
  readonly callsPerSecond?: number | undefined
}

export type RequestEnded = {
  readonly calls: number
  /**
   * Calls that were refused because of a rate limit. If that is all of them, the request was refused as a
   * whole.
   */
  readonly denied: number
  readonly sentAtMs: number
  readonly atMs: number
  /** From `Retry-After` or "try again in", in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

/** The two meters of one endpoint, by requests and by calls, and the pauses that it asked for. */
export type RequestMeters = {
  /** Nothing is limited, and no pause is in effect. */
  isFree(nowMs: number): boolean
  /** How many of these calls one request may hold: see `Ticket` for `together`. */
  sizeOf(calls: number, together: boolean | undefined, nowMs: number): number
  /** When a request with this many calls may leave. */
  dueAt(calls: number, nowMs: number): number
  /** The time in which a request with this many calls may leave, at the present rates. */
  requestMs(calls: number, nowMs: number): number
  take(calls: number, nowMs: number): void
  /** A request had to wait, so the rates may grow. */
  wanted(nowMs: number): void
  ended(request: RequestEnded): void
  readonly requestsPerSecond: (nowMs: number) => number
  readonly callsPerSecond: (nowMs: number) => number
  /** No request leaves before this time. */
  readonly blockedUntilMs: number
  /** The number of refused requests. */
  readonly denied: number
}

/** The pause after an objection without a hint, if no request passes. It doubles each time. */
const PAUSE_MS = 250
const PAUSE_MS_MAX = 15_000
/** A refused request is never sent again immediately, at any rate. */
const PAUSE_MS_MIN = 100
/**
 * Some endpoints object at random, however rarely they receive requests. No known endpoint accepts less than
 * this per second.
 */
const REQUESTS_MIN = 2
const CALLS_MIN = 5
/**
 * The fraction of all requests, and the number of consecutive ones, that may be refused without a conclusion.
 * A partly refused request counts as its refused fraction.
 */
const STRAY_SHARE = 1 / 100
const STRAYS_MAX = 2

export function createRequestMeters(limits: BudgetLimits): RequestMeters {
  const requests = createTokenBucket(limits.requestsPerSecond, { rateMin: REQUESTS_MIN })
  const calls = createTokenBucket(limits.callsPerSecond, { rateMin: CALLS_MIN })
  let blockedUntilMs = Number.NEGATIVE_INFINITY
  // A request that left before the last cut gives no information about the new rate.
  let cutMs = Number.NEGATIVE_INFINITY
  let denials = 0
  // The number of requests that may be refused before a rate is cut.
  let unrelatedDenials = 0
  let denied = 0

  /** Cuts the meter by which the endpoint counts: the meter that exceeded its limit, or whose load is new. */
  function cut({ calls: size, denied: refused, atMs }: RequestEnded): void {
    const isWhole = refused === size
    cutMs = atMs
    const cutCalls = () => calls.cut(atMs, isWhole ? size : 1, Math.max(1, Math.floor(size / 2)))
    const cutRequests = () => requests.cut(atMs, 1, 1)
    if (!isWhole) return cutCalls()
    const isCallsNear = calls.isNearLimit(atMs)
    if (isCallsNear !== requests.isNearLimit(atMs)) return isCallsNear ? cutCalls() : cutRequests()
    const maybeCalls = !calls.isProven(size, atMs)
    const maybeRequests = !requests.isProven(1, atMs)
    // The refusal of a single call may concern either meter, unless batches passed or the endpoint is known
    // to count calls.
    const hadBatches = calls.passedLately(atMs) >= 2 * requests.passedLately(atMs)
    const isEither = size === 1 && !hadBatches && !calls.isLimited
    if (maybeRequests && (isEither || !maybeCalls)) cutRequests()
    if (maybeCalls || !maybeRequests) cutCalls()
  }

  function pause(nowMs: number, ms: number): void {
    blockedUntilMs = Math.max(blockedUntilMs, nowMs + ms)
  }

  function confirm(nowMs: number): void {
    requests.confirmed(nowMs)
    calls.confirmed(nowMs)
  }

  return {
    isFree: (nowMs) => !requests.isLimited && !calls.isLimited && blockedUntilMs <= nowMs,
    sizeOf: (size, together, nowMs) =>
      Math.min(size, together ? calls.perSecond(nowMs) : calls.portion(nowMs)),
    dueAt: (size, nowMs) =>
      Math.max(requests.availableAt(1, nowMs), calls.availableAt(size, nowMs), blockedUntilMs),
    requestMs: (size, nowMs) => 1_000 * Math.max(size / calls.rate(nowMs), 1 / requests.rate(nowMs)),
    take(size, nowMs) {
      requests.take(1, nowMs)
      calls.take(size, nowMs)
    },
    wanted(nowMs) {
      requests.wanted(nowMs)
      calls.wanted(nowMs)
    },
    ended(request) {
      const { calls: size, denied: refused, atMs, sentAtMs, retryAfterMs } = request
      const share = refused / size
      unrelatedDenials = Math.min(STRAYS_MAX, unrelatedDenials + STRAY_SHARE * (1 - share))
      if (refused < size) {
        requests.passed(1, atMs)
        calls.passed(size - refused, atMs)
        denials = 0
      }
      if (refused === 0) return
      denied++
      calls.refused(refused, sentAtMs)
      if (refused === size) requests.refused(1, sentAtMs)
      if (retryAfterMs !== undefined) pause(atMs, retryAfterMs)
      if (sentAtMs < cutMs) return refused === size ? confirm(atMs) : undefined
      if (retryAfterMs === undefined && calls.passedLately(atMs) === 0)
        pause(atMs, Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** denials++))
      if (share <= unrelatedDenials) {
        unrelatedDenials -= share
        return
      }
      pause(atMs, PAUSE_MS_MIN)
      cut(request)
    },
    requestsPerSecond: requests.rate,
    callsPerSecond: calls.rate,
    get blockedUntilMs() {
      return blockedUntilMs
    },
    get denied() {
      return denied
    },
  }
}
