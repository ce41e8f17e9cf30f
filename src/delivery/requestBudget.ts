import type { RequestPriority } from '../rpc/port.js'
import { createTokenBucket } from './tokenBucket.js'

type Grants = {
  /** The requests to send now, in this order, with the number of calls for each. */
  readonly granted: readonly { readonly id: number; readonly calls: number }[]
  /** When the next ticket may have its turn; undefined if no ticket waits. */
  readonly wakeAtMs: number | undefined
}

export type BudgetStatus = {
  readonly requestsPerSecond: number | undefined
  readonly callsPerSecond: number | undefined
  /** No request is sent before this time, because the endpoint asked for the pause. */
  readonly blockedUntilMs: number | undefined
  readonly waiting: number
  readonly denied: number
}

/**
 * Limits the requests of all lanes, senders and pollers of a process to one endpoint. It is a token bucket
 * with two meters, since providers count requests or calls. It is pure: no clock, no timer. The shell calls
 * `ask` with a ticket for each request. It calls `grants` after each `ask` and each `ended`, and again at
 * `wakeAtMs`. It sends the granted requests, and reports the end of each.
 *
 * Nothing is limited until the endpoint objects, or a limit is given. Some requests are guaranteed. Polls get
 * one request per block, or one per block time if no block is seen, no matter how much is queued. While a
 * send waits, however, polls get at most an eighth of the endpoint's rate. Evidence and receipts get one
 * request in ten blocks. After each guaranteed request the highest priority has its turn: at the lowest rates
 * such a request takes most of a second, so a send that waited behind each would never leave.
 */
export type RequestBudget = {
  ask(ticket: Ticket): void
  /**
   * Returns true if the request may leave now without a ticket, because nothing is limited and no other
   * request waits: `ask` and `grants` would grant the same. Returns false if the request needs a ticket.
   */
  takeFree(asked: Omit<Ticket, 'id'>, nowMs: number): boolean
  withdraw(id: number): void
  grants(nowMs: number): Grants
  ended(request: RequestEnded): void
  /** A new block: a poll may go before its turn. */
  block(nowMs: number): void
  status(nowMs: number): BudgetStatus
}

/** The fraction of the endpoint's rate that polls may take before their turn. */
const POLL_SHARE = 1 / 8

export function createRequestBudget(limits: BudgetLimits = {}): RequestBudget {
  const meters = createRequestMeters(limits)
  const turns = createRequestTurns((calls, nowMs) => meters.requestMs(calls, nowMs) / POLL_SHARE)
  return {
    ask: turns.ask,
    takeFree({ priority, calls }, nowMs) {
      if (turns.waiting > 0 || !meters.isFree(nowMs)) return false
      meters.take(calls, nowMs)
      turns.tookFree(priority, nowMs)
      return true
    },
    withdraw: turns.withdraw,
    grants(nowMs) {
      const granted: { id: number; calls: number }[] = []
      for (let ticket = turns.next(nowMs); ticket !== undefined; ticket = turns.next(nowMs)) {
        const calls = meters.sizeOf(ticket.calls, ticket.together, nowMs)
        const atMs = meters.dueAt(calls, nowMs)
        if (atMs > nowMs) {
          meters.wanted(nowMs)
          return { granted, wakeAtMs: atMs }
        }
        meters.take(calls, nowMs)
        turns.granted(ticket, nowMs)
        granted.push({ id: ticket.id, calls })
      }
      return { granted, wakeAtMs: undefined }
    },
    ended: meters.ended,
    block: turns.block,
    status(nowMs) {
      const { blockedUntilMs, denied } = meters
      return {
        requestsPerSecond: finite(meters.requestsPerSecond(nowMs)),
        callsPerSecond: finite(meters.callsPerSecond(nowMs)),
        blockedUntilMs: blockedUntilMs > nowMs ? blockedUntilMs : undefined,
        waiting: turns.waiting,
        denied,
      }
    },
  }
}

const finite = (rate: number): number | undefined => (Number.isFinite(rate) ? rate : undefined)

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
type RequestMeters = {
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
const UNRELATED_SHARE = 1 / 100
const UNRELATED_MAX = 2

function createRequestMeters(limits: BudgetLimits): RequestMeters {
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
      unrelatedDenials = Math.min(UNRELATED_MAX, unrelatedDenials + UNRELATED_SHARE * (1 - share))
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
      if (refused === size) {
        requests.denied(1, atMs)
        calls.denied(size, atMs)
      }
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

/** In the order in which requests are served: the missing head of a lane first, receipts last. */
export const PRIORITIES = [
  'repair',
  'send',
  'evidence',
  'poll',
  'receipt',
] as const satisfies RequestPriority[]
export type Priority = RequestPriority

/** A request that waits for its turn. */
export type Ticket = {
  readonly id: number
  readonly priority: Priority
  /** The number of calls in the request. Fewer may be granted; the caller requests the rest again. */
  readonly calls: number
  /** All calls are granted together, or as many as a second allows. */
  readonly together?: boolean | undefined
}

/** The tickets that wait, and the order in which they have their turn. */
type RequestTurns = {
  /** The number of tickets that wait. */
  readonly waiting: number
  ask(ticket: Ticket): void
  withdraw(id: number): void
  /**
   * A ticket of a priority whose guaranteed request is due, else of the highest priority. Two guaranteed
   * requests never follow each other. It stays in its queue until it is `granted`.
   */
  next(nowMs: number): Ticket | undefined
  /** The ticket leaves its queue. */
  granted(ticket: Ticket, nowMs: number): void
  /** A request left without a ticket, while no other one waited. */
  tookFree(priority: Priority, nowMs: number): void
  /** A new block: a poll may go before its turn. */
  block(nowMs: number): void
}

/**
 * Evidence and receipts get one guaranteed request in this number of blocks. Their share follows the polls, not the
 * time.
 */
const RARE_BLOCKS = 10
/** The assumed time between two blocks until two have been seen. Several blocks of one poll count as one. */
const BLOCK_MS = 2_000
const BLOCK_MS_MIN = 1_000
const BLOCK_MS_MAX = 12_000

/** @param pollMs the time between polls before their turn, at their share of the rate, while a send waits */
function createRequestTurns(pollMs: (calls: number, nowMs: number) => number): RequestTurns {
  const queues: Readonly<Record<Priority, Ticket[]>> = {
    repair: [],
    send: [],
    evidence: [],
    poll: [],
    receipt: [],
  }
  const served = new Set<Priority>(PRIORITIES)
  let waiting = 0
  // The newest request was a guaranteed one, and a higher priority waited.
  let wentBefore = false
  // The newest request among polls and receipts was a poll.
  let wasPoll = false
  let blocks = 0
  let blockAtMs: number | undefined
  // The shortest time between two blocks: if polls get no turn, blocks seem rare.
  let blockMs: number | undefined
  let polledAtMs: number | undefined

  /**
   * The priority that has the next regular turn. Polls never end, and callers wait for receipts, so the two
   * take turns.
   */
  function highest(): Priority | undefined {
    const first = PRIORITIES.find((priority) => queues[priority].length > 0)
    return first === 'poll' && wasPoll && queues.receipt.length > 0 ? 'receipt' : first
  }

  /** The highest priority whose guaranteed request is due. `sinceMs`: the time since the last poll. */
  function guaranteed(sinceMs: number, nowMs: number): Priority | undefined {
    return PRIORITIES.find((priority) => {
      const [ticket] = queues[priority]
      if (ticket === undefined || served.has(priority)) return false
      return priority !== 'poll' || sinceMs >= pollEveryMs(ticket.calls, nowMs)
    })
  }

  /**
   * At a low rate, polls before their turn take no more than their share of the rate that sends could use.
   * Next to evidence they are not limited: a poll may show that a nonce is missing at the endpoint, and a
   * search may take long.
   */
  function pollEveryMs(size: number, nowMs: number): number {
    return queues.repair.length === 0 && queues.send.length === 0 ? 0 : pollMs(size, nowMs)
  }

  function noteServed(priority: Priority, nowMs: number): void {
    served.add(priority)
    if (priority === 'poll') polledAtMs = nowMs
    if (priority === 'poll' || priority === 'receipt') wasPoll = priority === 'poll'
  }

  return {
    get waiting() {
      return waiting
    },
    ask(ticket) {
      queues[ticket.priority].push(ticket)
      waiting++
    },
    withdraw(id) {
      for (const queue of Object.values(queues)) {
        const at = queue.findIndex((ticket) => ticket.id === id)
        if (at < 0) continue
        queue.splice(at, 1)
        waiting--
      }
    },
    next(nowMs) {
      if (waiting === 0) return undefined
      // Only polls see blocks: a poll that never had its turn would never see the block that grants it one.
      polledAtMs ??= nowMs
      const sinceMs = nowMs - polledAtMs
      if (sinceMs >= (blockMs ?? BLOCK_MS)) served.delete('poll')
      const first = (wentBefore ? undefined : guaranteed(sinceMs, nowMs)) ?? highest()
      return first && queues[first][0]
    },
    granted({ priority }, nowMs) {
      wentBefore = priority !== highest()
      queues[priority].shift()
      waiting--
      noteServed(priority, nowMs)
    },
    tookFree(priority, nowMs) {
      wentBefore = false
      noteServed(priority, nowMs)
    },
    block(nowMs) {
      served.delete('poll')
      const gapMs = nowMs - (blockAtMs ?? nowMs)
      blockAtMs = nowMs
      if (gapMs >= BLOCK_MS_MIN) blockMs = Math.min(gapMs, blockMs ?? BLOCK_MS_MAX)
      if (++blocks % RARE_BLOCKS !== 0) return
      served.delete('evidence')
      served.delete('receipt')
    },
  }
}
