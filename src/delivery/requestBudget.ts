import type { RequestPriority } from '../rpc/port.js'
import { createTokenBucket } from './tokenBucket.js'

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
  /** Calls that it would hold. It may be granted fewer: the rest is asked for again. */
  readonly calls: number
  /** It is granted all of them, or as many as a second allows. */
  readonly together?: boolean | undefined
}

export type Grants = {
  /** To be sent now, in this order, with so many calls each. */
  readonly granted: readonly { readonly id: number; readonly calls: number }[]
  /** When the next ticket may have its turn; undefined while none waits. */
  readonly wakeAtMs: number | undefined
}

export type RequestEnded = {
  readonly calls: number
  /** Calls that were refused because of a rate limit. All of them: the request was refused as a whole. */
  readonly denied: number
  readonly sentAtMs: number
  readonly atMs: number
  /** `Retry-After`, "try again in", in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

export type BudgetStatus = {
  readonly requestsPerSecond: number | undefined
  readonly callsPerSecond: number | undefined
  /** Nothing is sent before: the endpoint asked for it. */
  readonly blockedUntilMs: number | undefined
  readonly waiting: number
  readonly denied: number
}

/**
 * How often one endpoint is asked, by all lanes, senders and pollers of a process: a token bucket with two meters, since
 * providers count requests or calls. Pure: no clock, no timer. The shell asks with a ticket for each request, calls
 * `grants` after each `ask` and each `ended`, and again at `wakeAtMs`, sends what is granted, and reports each end.
 *
 * Nothing is limited until the endpoint objects, or a limit is given. Polls get one request a block, and one in the time of
 * a block where none is seen, whatever waits, but no more than an eighth of what the endpoint allows while there is
 * something to send; evidence and receipts get one in ten blocks. After each of these the highest priority has its turn:
 * at the lowest rates such a request takes most of a second, and a send that waited behind each would never leave.
 */
export type RequestBudget = {
  ask(ticket: Ticket): void
  /**
   * The request leaves now and needs no ticket, since nothing is limited and no other request waits: `ask` and `grants`
   * would grant the same. False where it has to ask.
   */
  takeFree(asked: Omit<Ticket, 'id'>, nowMs: number): boolean
  withdraw(id: number): void
  grants(nowMs: number): Grants
  ended(request: RequestEnded): void
  /** A new block: a poll may go before its turn. */
  block(nowMs: number): void
  status(nowMs: number): BudgetStatus
}

export type BudgetLimits = {
  readonly requestsPerSecond?: number | undefined
  readonly callsPerSecond?: number | undefined
}

/** After an objection without a hint, where nothing goes through: doubled each time. */
const PAUSE_MS = 250
const PAUSE_MS_MAX = 15_000
/** What was refused is not sent again at once, whatever the rate. */
const PAUSE_MS_MIN = 100
const RARE_BLOCKS = 10
/** Between two blocks, as long as no two have been seen. Several blocks of one look are none. */
const BLOCK_MS = 2_000
const BLOCK_MS_MIN = 1_000
const BLOCK_MS_MAX = 12_000
/** Of what the endpoint takes, for polls before their turn. */
const POLL_SHARE = 1 / 8
/** Some endpoints object at random, however rarely they are asked. None is known that takes less in a second. */
const REQUESTS_MIN = 2
const CALLS_MIN = 5
/** So many of all requests may be refused without a conclusion, and so many together. A part of one counts as a part. */
const STRAY_SHARE = 1 / 100
const STRAYS_MAX = 2

export function createRequestBudget(limits: BudgetLimits = {}): RequestBudget {
  const requests = createTokenBucket(limits.requestsPerSecond, { rateMin: REQUESTS_MIN })
  const calls = createTokenBucket(limits.callsPerSecond, { rateMin: CALLS_MIN })
  const queues: Readonly<Record<Priority, Ticket[]>> = {
    repair: [],
    send: [],
    evidence: [],
    poll: [],
    receipt: [],
  }
  const served = new Set<Priority>(PRIORITIES)
  // The newest request was a guaranteed one, and a higher priority waited.
  let wentBefore = false
  // Of polls and receipts, the newest request was a poll.
  let wasPoll = false
  let blocks = 0
  let blockAtMs: number | undefined
  // The shortest time between two blocks: where polls have no turn blocks seem to come rarely.
  let blockMs: number | undefined
  let polledAtMs: number | undefined
  let blockedUntilMs = Number.NEGATIVE_INFINITY
  // What left before the last cut says nothing of the rate since then.
  let cutMs = Number.NEGATIVE_INFINITY
  let denials = 0
  // Requests that may be refused before a rate is cut for it.
  let strays = 0
  let denied = 0
  // Tickets in all queues.
  let waiting = 0

  /** The priority whose turn it is by itself. Polls never end: beside receipts, which callers wait for, they take turns. */
  function highest(): Priority | undefined {
    const first = PRIORITIES.find((priority) => queues[priority].length > 0)
    return first === 'poll' && wasPoll && queues.receipt.length > 0 ? 'receipt' : first
  }

  /** A priority whose guaranteed request is due, else the highest one. The guaranteed ones do not follow each other. */
  function nextTicket(nowMs: number): Ticket | undefined {
    if (waiting === 0) return undefined
    // Polls alone see blocks: one that never had its turn would never see the block that grants it one.
    polledAtMs ??= nowMs
    const sinceMs = nowMs - polledAtMs
    if (sinceMs >= (blockMs ?? BLOCK_MS)) served.delete('poll')
    const isDue = (priority: Priority) => {
      const [ticket] = queues[priority]
      if (ticket === undefined || served.has(priority)) return false
      return priority !== 'poll' || sinceMs >= pollEveryMs(ticket.calls, nowMs)
    }
    const first = (wentBefore ? undefined : PRIORITIES.find(isDue)) ?? highest()
    return first && queues[first][0]
  }

  /**
   * At a low rate polls before their turn take no more than their share of what sends could have. Beside evidence they
   * take what they need: a look may show that something is missing at the endpoint, and a search may go on for long.
   */
  function pollEveryMs(size: number, nowMs: number): number {
    if (queues.repair.length === 0 && queues.send.length === 0) return 0
    const seconds = Math.max(size / calls.rate(nowMs), 1 / requests.rate(nowMs)) / POLL_SHARE
    return seconds * 1_000
  }

  /** A batch that fits the bucket: what trickles in is not sent call by call. */
  function sizeOf(ticket: Ticket, nowMs: number): number {
    return Math.min(ticket.calls, ticket.together ? calls.perSecond(nowMs) : calls.portion(nowMs))
  }

  const dueAt = (size: number, nowMs: number): number =>
    Math.max(requests.availableAt(1, nowMs), calls.availableAt(size, nowMs), blockedUntilMs)

  function grant(ticket: Ticket, size: number, nowMs: number): { id: number; calls: number } {
    requests.take(1, nowMs)
    calls.take(size, nowMs)
    wentBefore = ticket.priority !== highest()
    queues[ticket.priority].shift()
    waiting--
    noteServed(ticket.priority, nowMs)
    return { id: ticket.id, calls: size }
  }

  function noteServed(priority: Priority, nowMs: number): void {
    served.add(priority)
    if (priority === 'poll') polledAtMs = nowMs
    if (priority === 'poll' || priority === 'receipt') wasPoll = priority === 'poll'
  }

  /** Cuts the meter that the endpoint counts by: the one that was tried beyond its limit, or whose load is new. */
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
    // A single call that is refused may be either, unless batches went through or calls are known to be counted.
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
    ask(ticket) {
      queues[ticket.priority].push(ticket)
      waiting++
    },
    takeFree({ priority, calls: size }, nowMs) {
      if (waiting > 0 || requests.isLimited || calls.isLimited || blockedUntilMs > nowMs) return false
      requests.take(1, nowMs)
      calls.take(size, nowMs)
      wentBefore = false
      noteServed(priority, nowMs)
      return true
    },
    withdraw(id) {
      for (const queue of Object.values(queues)) {
        const at = queue.findIndex((ticket) => ticket.id === id)
        if (at < 0) continue
        queue.splice(at, 1)
        waiting--
      }
    },
    grants(nowMs) {
      const granted: { id: number; calls: number }[] = []
      for (let ticket = nextTicket(nowMs); ticket !== undefined; ticket = nextTicket(nowMs)) {
        const size = sizeOf(ticket, nowMs)
        const atMs = dueAt(size, nowMs)
        if (atMs > nowMs) {
          requests.wanted(nowMs)
          calls.wanted(nowMs)
          return { granted, wakeAtMs: atMs }
        }
        granted.push(grant(ticket, size, nowMs))
      }
      return { granted, wakeAtMs: undefined }
    },
    ended(request) {
      const { calls: size, denied: refused, atMs, sentAtMs, retryAfterMs } = request
      const share = refused / size
      strays = Math.min(STRAYS_MAX, strays + STRAY_SHARE * (1 - share))
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
      if (share <= strays) {
        strays -= share
        return
      }
      pause(atMs, PAUSE_MS_MIN)
      cut(request)
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
    status(nowMs) {
      const finite = (rate: number) => (Number.isFinite(rate) ? rate : undefined)
      return {
        requestsPerSecond: finite(requests.rate(nowMs)),
        callsPerSecond: finite(calls.rate(nowMs)),
        blockedUntilMs: blockedUntilMs > nowMs ? blockedUntilMs : undefined,
        waiting,
        denied,
      }
    },
  }
}
