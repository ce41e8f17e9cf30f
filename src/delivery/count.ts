import { lose, noteAcknowledged, quietMsOf } from './retransmit.js'
import { acknowledge, frontierOf, type Segment } from './sequence.js'
import { countOpen, type DeliveryState, headOf, isByCount, openRequests, unprovenFromMs } from './state.js'

/** A `pending` count of the endpoint, requested for any purpose. */
export type CountReading = {
  readonly count: number
  /** When the count was requested. A reading never overrides one that was requested later. */
  readonly askedAtMs: number
  readonly atMs: number
  /** The request whose last call read this count, after its transactions. */
  readonly request?: number | undefined
}

const FAILURES_MAX = 6
const NEVER = Number.POSITIVE_INFINITY
const AT_ONCE = Number.NEGATIVE_INFINITY
/** How many requests carry a count to find out whether it includes the mempool. */
const TRIALS_MAX = 16

/**
 * A nonce below the count is not missing. A nonce that is not counted is missing only if the count includes
 * the mempool. If the count is known not to include it, the bodies show the same, and no later count would
 * refute one that is too high.
 */
export function takeCount(state: DeliveryState, reading: CountReading): void {
  const { count, askedAtMs } = reading
  const { sequence } = state
  if (state.traits.countsMempool === false) return
  // A count at the end of a long request may be answered after a count that was requested later.
  if (askedAtMs < state.count.readAtMs && count < sequence.countedTo) return
  state.count.readAtMs = Math.max(state.count.readAtMs, askedAtMs)
  state.count.readSealed = state.sealed
  state.count.isBehind = count < sequence.confirmedTo
  // An uninformative count is not immediately requested again.
  state.count.failures = state.count.isBehind ? state.count.failures + 1 : 0
  const before = acknowledge(sequence, { ...sequence, countedTo: count })
  noteAcknowledged(state, before)
  if (state.traits.countsMempool === true) evaluateHead(state, reading, before)
}

/** Evaluates the count for the lowest nonce that it lacks, if the endpoint may have that nonce. */
function evaluateHead(
  state: DeliveryState,
  { askedAtMs, atMs, request }: CountReading,
  before: number,
): void {
  const head = headOf(state)
  if (head === undefined) return
  if (head.state === 'unanswered') {
    if (askedAtMs >= head.answered.atMs) lose(state, head, 'count')
    return
  }
  if (state.count.isBehind) return
  if (head.state === 'inFlight') return evaluateOpenHead(state, head, askedAtMs, atMs, before)
  // The count of another request may have been read before the head arrived. The count of the head's own
  // request is read last.
  if (request !== head.sent.request && askedAtMs < head.answered.atMs) return
  evaluateAnsweredHead(state, head, askedAtMs, atMs)
}

/** The request of the head is overdue: it never arrived, or the node is still busy with it. */
function evaluateOpenHead(
  state: DeliveryState,
  head: Segment,
  askedAtMs: number,
  atMs: number,
  before: number,
): void {
  const request = state.requests.get(head.sent.request)
  if (request === undefined || overdueAt(state, request) > askedAtMs) return
  if (state.sequence.acknowledgedTo > before) return
  if (request.nonces[0] === head.nonce) lose(state, head, 'count')
  else evaluateAnsweredHead(state, head, askedAtMs, atMs)
}

/**
 * Requires two readings that agree, the second requested after the first: by then the pool has had enough
 * time.
 */
function evaluateAnsweredHead(state: DeliveryState, head: Segment, askedAtMs: number, atMs: number): void {
  const { suspect } = state
  if (suspect?.nonce !== head.nonce) {
    state.suspect = { nonce: head.nonce, atMs }
    return
  }
  if (askedAtMs < suspect.atMs || atMs - suspect.atMs < state.lagMs) return
  const { window, pool } = state
  state.counted = {
    nonce: head.nonce,
    waitedMs: atMs - head.answered.atMs,
    losses: { window: window.losses, pool: pool.losses },
  }
  lose(state, head, 'count')
}

/**
 * The pool already knew the bytes of a nonce that two counts had lacked. The nonce was never missing, and the
 * counts lag further behind the answers than was known. The effects of the loss on the window and the pool
 * bound are undone, as RFC 4015 does after a spurious retransmission.
 */
export function refuteCount(state: DeliveryState, nonce: number): void {
  const { counted } = state
  if (counted?.nonce !== nonce) return
  state.lagMs = Math.min(LAG_MS_MAX, 2 * Math.max(state.lagMs, counted.waitedMs))
  state.counted = undefined
  state.window.undo(counted.losses.window)
  state.pool.undo(counted.losses.pool)
}

/** The maximum assumed lag of a count, as long as no other evidence shows the pool. */
const LAG_MS_MAX = 2_000

const overdueAt = ({ trip }: DeliveryState, request: { sentAtMs: number; calls: number }): number =>
  request.sentAtMs + trip.timeoutMs(request.calls)

/** Whether the next request with transactions also carries a count. That costs a call, but no round trip. */
export function ridesAlong({ traits, count }: DeliveryState): boolean {
  return traits.countsMempool ?? count.trials < TRIALS_MAX
}

/**
 * Whether it is still unknown if the count includes the mempool, and counts in requests may still show it.
 */
export const isLearning = ({ traits, count }: DeliveryState): boolean =>
  traits.countsMempool === undefined && count.trials < TRIALS_MAX

/** When a count has to be requested on its own; undefined if nothing depends on it. */
export function countDueAt(state: DeliveryState): number | undefined {
  if (state.traits.countsMempool !== true) return undefined
  const dueAtMs = Math.min(proofDueAt(state), outstandingDueAt(state), othersDueAt(state))
  if (dueAtMs === NEVER) return undefined
  const { count, trip } = state
  const pauseMs = trip.timeoutMs(1) * 2 ** Math.min(count.failures, FAILURES_MAX)
  const mayAskAt = count.isOpen || count.failures > 0 ? count.askedAtMs + pauseMs : AT_ONCE
  return Math.max(dueAtMs, mayAskAt)
}

/**
 * A nonce that only a count acknowledged is verified by another count: after some blocks without the nonce,
 * or after some time without a block.
 */
function proofDueAt(state: DeliveryState): number {
  if (!isByCount(state)) return NEVER
  const quietAtMs = Math.max(state.count.readAtMs, state.refreshedAtMs) + quietMsOf(state)
  return countOpen(state) === 0 ? Math.min(quietAtMs, unprovenFromMs(state)) : quietAtMs
}

/**
 * New nonces wait above one that this process never sent. Another process may have sent it: one count per
 * refresh shows whether it did.
 */
function othersDueAt({ sequence, count, refreshedAtMs }: DeliveryState): number {
  const frontier = frontierOf(sequence)
  if (sequence.offeredTo <= frontier || sequence.segments.has(frontier)) return NEVER
  const isRead = Number.isFinite(count.readAtMs) && count.readAtMs >= refreshedAtMs
  return isRead ? NEVER : AT_ONCE
}

function outstandingDueAt(state: DeliveryState): number {
  const { sequence, count, suspect } = state
  if (sequence.outstanding === 0) return NEVER
  if (sequence.unanswered > 0) return AT_ONCE
  const open = openRequests(state)
  const due: number[] = []
  // The count of an open request will bring the same information.
  const isComing = open.some(({ hasCount, sentAtMs }) => hasCount && suspect && sentAtMs >= suspect.atMs)
  if (suspect && !isComing) due.push(suspect.atMs + state.lagMs)
  if (open.length === 0 && count.readAtMs < coversAllFrom(state)) due.push(coversAllFrom(state) + state.lagMs)
  for (const request of open)
    if (count.readAtMs < overdueAt(state, request)) due.push(overdueAt(state, request))
  return Math.min(NEVER, ...due)
}

/**
 * The earliest request time of a count that covers all outstanding nonces: after all answers, and after each
 * block.
 */
const coversAllFrom = ({ count, sealed, answeredAtMs, refreshedAtMs }: DeliveryState): number =>
  count.readSealed < sealed ? Math.max(answeredAtMs, refreshedAtMs) : answeredAtMs

export function noteAsked({ count }: DeliveryState, nowMs: number): void {
  // The previous request is given up, but its answer still counts if it arrives.
  if (count.isOpen) count.failures++
  count.isOpen = true
  count.askedAtMs = nowMs
}
