import { lose, noteAcknowledged, quietMsOf } from './retransmit.js'
import { acknowledge, frontierOf, type Segment } from './sequence.js'
import { countOpen, type DeliveryState, headOf, isByCount, isUnproven, openRequests } from './state.js'

/** A `pending` count of the endpoint, whatever it was asked for. */
export type CountReading = {
  readonly count: number
  /** When it was asked for. One that was asked for before another one that is known takes nothing back. */
  readonly askedAtMs: number
  readonly atMs: number
  /** The request in which it rode along, behind the transactions. */
  readonly request?: number | undefined
}

const FAILURES_MAX = 6
const NEVER = Number.POSITIVE_INFINITY
const AT_ONCE = Number.NEGATIVE_INFINITY
/** Requests whose count rides along to find out whether it includes the mempool. */
const TRIALS_MAX = 16

/**
 * A nonce below it is not missing. What it does not count is missing where it includes the mempool, and there alone. Where
 * it is known not to, bodies show as much, and no later count would refute one that is too high.
 */
export function takeCount(state: DeliveryState, reading: CountReading): void {
  const { count, askedAtMs } = reading
  const { sequence } = state
  if (state.traits.countsMempool === false) return
  // One that rode along in a long request may have been answered after one that was asked for later.
  if (askedAtMs < state.count.readAtMs && count < sequence.countedTo) return
  state.count.readAtMs = Math.max(state.count.readAtMs, askedAtMs)
  state.count.readSealed = state.sealed
  state.count.isBehind = count < sequence.confirmedTo
  // One that says nothing is not asked for at once again.
  state.count.failures = state.count.isBehind ? state.count.failures + 1 : 0
  const before = acknowledge(sequence, { ...sequence, countedTo: count })
  noteAcknowledged(state, before)
  if (state.traits.countsMempool === true) weigh(state, reading, before)
}

/** What the count says of the lowest nonce that it lacks, where the endpoint may have that. */
function weigh(state: DeliveryState, { askedAtMs, atMs, request }: CountReading, before: number): void {
  const head = headOf(state)
  if (head === undefined) return
  if (head.state === 'unanswered') {
    if (askedAtMs >= head.answered.atMs) lose(state, head, 'count')
    return
  }
  if (state.count.isBehind) return
  if (head.state === 'inFlight') return weighOpen(state, head, askedAtMs, atMs, before)
  // A count of another request may have been read before the head arrived. The count of its own request is read last.
  if (request !== head.sent.request && askedAtMs < head.answered.atMs) return
  weighTwice(state, head, askedAtMs, atMs)
}

/** Its request is overdue: it never arrived, or the node is still busy with it. */
function weighOpen(
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
  else weighTwice(state, head, askedAtMs, atMs)
}

/** Two readings that agree, the second asked for after the first: the pool has had its time. */
function weighTwice(state: DeliveryState, head: Segment, askedAtMs: number, atMs: number): void {
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
 * The pool knew the bytes of a nonce that two counts had lacked: it was never missing, and the counts are further behind
 * the answers than was known. What the loss had said of the window and of the pool is taken back, as RFC 4015 does after a
 * spurious retransmission.
 */
export function refuteCount(state: DeliveryState, nonce: number): void {
  const { counted } = state
  if (counted?.nonce !== nonce) return
  state.lagMs = Math.min(LAG_MS_MAX, 2 * Math.max(state.lagMs, counted.waitedMs))
  state.counted = undefined
  state.window.undo(counted.losses.window)
  state.pool.undo(counted.losses.pool)
}

/** A count may be so far behind, as long as nothing else shows what the pool has. */
const LAG_MS_MAX = 2_000

const overdueAt = ({ trip }: DeliveryState, request: { sentAtMs: number; calls: number }): number =>
  request.sentAtMs + trip.timeoutMs(request.calls)

/** Whether the count rides along in the next request with transactions. It costs a call, and no round trip. */
export function ridesAlong({ traits, count }: DeliveryState): boolean {
  return traits.countsMempool ?? count.trials < TRIALS_MAX
}

/** Whether it is not known yet that the count includes the mempool, and counts that ride along may still show it. */
export const isLearning = ({ traits, count }: DeliveryState): boolean =>
  traits.countsMempool === undefined && count.trials < TRIALS_MAX

/** When the count is to be asked for by itself; undefined where nothing depends on it. */
export function countDueAt(state: DeliveryState): number | undefined {
  if (state.traits.countsMempool !== true) return undefined
  const dueAtMs = Math.min(proofDueAt(state), outstandingDueAt(state), othersDueAt(state))
  if (dueAtMs === NEVER) return undefined
  const { count, trip } = state
  const pauseMs = trip.timeoutMs(1) * 2 ** Math.min(count.failures, FAILURES_MAX)
  const mayAskAt = count.isOpen || count.failures > 0 ? count.askedAtMs + pauseMs : AT_ONCE
  return Math.max(dueAtMs, mayAskAt)
}

/** What a count alone acknowledged is asked about again: after some blocks without it, or some time without a block. */
function proofDueAt(state: DeliveryState): number {
  if (!isByCount(state)) return NEVER
  if (isUnproven(state) && countOpen(state) === 0) return AT_ONCE
  return Math.max(state.count.readAtMs, state.refreshedAtMs) + quietMsOf(state)
}

/**
 * New nonces wait above one that was never sent from here. Another process may have sent it: a count tells, once for each
 * refresh.
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
  // The count of an open request will say the same.
  const isComing = open.some(({ hasCount, sentAtMs }) => hasCount && suspect && sentAtMs >= suspect.atMs)
  if (suspect && !isComing) due.push(suspect.atMs + state.lagMs)
  if (open.length === 0 && count.readAtMs < toldAt(state)) due.push(toldAt(state) + state.lagMs)
  for (const request of open)
    if (count.readAtMs < overdueAt(state, request)) due.push(overdueAt(state, request))
  return Math.min(NEVER, ...due)
}

/** A count that was asked for since says what became of what is outstanding: after all answers, and after each block. */
const toldAt = ({ count, sealed, answeredAtMs, refreshedAtMs }: DeliveryState): number =>
  count.readSealed < sealed ? Math.max(answeredAtMs, refreshedAtMs) : answeredAtMs

export function noteAsked({ count }: DeliveryState, nowMs: number): void {
  // The one before is given up: its answer still counts where it comes.
  if (count.isOpen) count.failures++
  count.isOpen = true
  count.askedAtMs = nowMs
}
