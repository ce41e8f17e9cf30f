import type { SendOutcome } from '../rpc/outcome.js'
import { refuteCount, takeCount } from './count.js'
import { lose } from './retransmit.js'
import { type AnsweredAt, frontierOf, noteCounted, type Segment, setState } from './sequence.js'
import type { DeliveryState, OpenRequest } from './state.js'

/**
 * How a request with transactions ended.
 *
 * - `answers`: one for each nonce, in the order of the request. `count`: the answer to the count that the
 *   request carried, if there is one.
 * - `batchRefused`: refused as a whole, for its size or for being a batch. No call of it took effect.
 * - `failed`: no readable answer.
 */
export type RequestEnd =
  | { readonly end: 'answers'; readonly answers: readonly SendAnswer[]; readonly count?: number | undefined }
  | { readonly end: 'batchRefused' }
  | { readonly end: 'failed' }

/** Pauses after requests without a result: none after the first, then doubled up to the maximum. */
const PAUSE_MS = 100
const PAUSE_MS_MAX = 60_000

export function settle(state: DeliveryState, id: number, end: RequestEnd, atMs: number): void {
  const request = state.requests.get(id)
  if (request === undefined) return
  state.requests.delete(id)
  state.answeredAtMs = atMs
  const answered: AnsweredAt = { atMs }
  if (end.end === 'answers') return takeAnswers(state, request, end, answered)
  const { calls } = request
  const open = carried(state, request)
  if (end.end === 'batchRefused') state.batch.refused(calls)
  // If none of its nonces is open, blocks contain them all, or they were sent again: only the answer is
  // missing.
  else if (open.length > 0) {
    if (!request.sync) state.batch.failed(calls)
    pause(state, calls, atMs)
  }
  for (const segment of open) {
    if (end.end === 'batchRefused') setState(state.sequence, segment, 'lost')
    else leaveUnanswered(state, segment, answered)
  }
}

/** Segments whose newest copy is in this request, and whose fate is still open. */
function carried({ sequence }: DeliveryState, { id, nonces }: OpenRequest): Segment[] {
  return nonces.flatMap((nonce) => {
    const segment = sequence.segments.get(nonce)
    return segment?.sent.request === id && segment.state === 'inFlight' ? [segment] : []
  })
}

function leaveUnanswered(state: DeliveryState, segment: Segment, answered: AnsweredAt): void {
  segment.answered = answered
  // A count shows whether the nonce arrived, but not which bytes are there.
  const isCountable = state.traits.countsMempool === true && !segment.forced
  setState(state.sequence, segment, isCountable ? 'unanswered' : 'lost')
  segment.silent = true
  if (segment.nonce < state.sequence.acknowledgedTo) noteCounted(state.sequence, segment)
}

function takeAnswers(
  state: DeliveryState,
  request: OpenRequest,
  { answers, count }: Extract<RequestEnd, { end: 'answers' }>,
  answered: AnsweredAt,
): void {
  const { atMs } = answered
  const { id, nonces, sentAtMs, hasCount } = request
  const effects: Effects = { isTaken: false, isLater: false, isUnanswered: false, full: undefined }
  for (const [index, nonce] of nonces.entries()) {
    const segment = state.sequence.segments.get(nonce)
    const answer = answers[index] ?? UNANSWERED
    if (answer.kind === 'taken' || answer.kind === 'occupied') effects.isTaken = true
    if (segment) takeAnswer(state, segment, answer, { request, answered, effects })
  }
  noteWhole(state, request, answers, atMs)
  noteEffects(state, effects, atMs)
  if (hasCount && count !== undefined) takeCount(state, { count, askedAtMs: sentAtMs, atMs, request: id })
}

/** The effects of one request's answers on the endpoint as a whole. */
type Effects = { isTaken: boolean; isLater: boolean; isUnanswered: boolean; full: number | undefined }

type Context = { readonly request: OpenRequest; readonly answered: AnsweredAt; readonly effects: Effects }

function noteWhole(
  state: DeliveryState,
  { nonces, calls, sentAtMs, sync }: OpenRequest,
  answers: readonly SendAnswer[],
  atMs: number,
): void {
  const isWhole = nonces.every(
    (_, index) => answers[index] !== undefined && answers[index].kind !== 'unanswered',
  )
  if (!isWhole || sync) return
  state.batch.answered(calls)
  state.trip.answered(calls, atMs - sentAtMs)
}

function noteEffects(state: DeliveryState, effects: Effects, atMs: number): void {
  const { sequence, pool, window } = state
  const { isTaken, isLater, isUnanswered, full } = effects
  if (isTaken && !isLater && !isUnanswered) state.failures = 0
  // One nonce is offered at a time, as TCP probes a receiver without room: the endpoint would refuse the others like
  // the first.
  if (isTaken) state.isProbing = false
  else if (isLater) state.isProbing = true
  // An endpoint that does not accept bytes now does not accept them a moment later either. A lost answer
  // proves nothing.
  if (isLater) state.failures = Math.max(1, state.failures)
  if (isLater || isUnanswered) pause(state, 1, atMs)
  if (full === undefined) return
  pool.limit(full - sequence.latest)
  window.loss(sequence.acknowledgedTo, sequence.next)
}

function pause(state: DeliveryState, calls: number, atMs: number): void {
  const pauseMs = state.failures === 0 ? 0 : Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (state.failures - 1))
  // The size of a batch may be the reason, so half of it is tried soon.
  state.failures = calls > 1 ? 1 : state.failures + 1
  state.failedAtMs = atMs
  state.retryAtMs = Math.max(state.retryAtMs, atMs + pauseMs)
}

function takeAnswer(state: DeliveryState, segment: Segment, answer: SendAnswer, context: Context): void {
  const { sequence } = state
  const { request, answered, effects } = context
  const isNewest = segment.sent.request === request.id
  if (answer.kind === 'taken') {
    if (answer.isKnown && segment.nonce === state.dropped?.nonce) state.dropped = undefined
    if (answer.isKnown) refuteCount(state, segment.nonce)
    // An older copy that arrived late has arrived too, unless its bytes were replaced.
    const isSame = isNewest ? segment.state === 'inFlight' || !segment.forced : !segment.forced
    if (isSame && segment.state !== 'refused' && segment.state !== 'new') arrive(state, segment, answered)
    return
  }
  if (!isNewest || segment.state !== 'inFlight') return
  switch (answer.kind) {
    case 'occupied':
      arrive(state, segment, answered)
      segment.occupied = true
      return
    case 'unanswered':
      effects.isUnanswered = true
      return leaveUnanswered(state, segment, answered)
    case 'refused':
      // The endpoint refused other bytes at a nonce that it has: the earlier bytes are still there.
      segment.occupied = segment.forced && !segment.missed
      return setState(sequence, segment, segment.occupied ? 'taken' : 'refused')
    case 'full':
      effects.full ??= segment.nonce
      // If none of the account's transactions are there, some time has to pass before the next attempt.
      segment.losses = Math.max(2, segment.losses + 1)
      return setState(sequence, segment, 'lost')
    case 'later':
      effects.isLater = true
      return setState(sequence, segment, 'lost')
    case 'limited':
      return setState(sequence, segment, 'lost')
    case 'gapped':
      return takeGap(state, segment, answer, context)
    default:
      return answer satisfies never
  }
}

function arrive({ sequence }: DeliveryState, segment: Segment, answered: AnsweredAt): void {
  segment.answered = answered
  segment.forced = false
  segment.silent = false
  segment.occupied = false
  setState(sequence, segment, 'taken')
}

/**
 * Handles a negative acknowledgement: a lower nonce is missing, unless it was still on its way when this one
 * arrived.
 */
function takeGap(
  state: DeliveryState,
  segment: Segment,
  { expected, nonceMax }: Extract<SendAnswer, { kind: 'gapped' }>,
  { request, effects }: Context,
): void {
  const { sequence, pool } = state
  setState(sequence, segment, 'lost')
  // Not a gap, but the maximum distance that the endpoint allows (zkSync): "allowed nonce range: 0 - 20,
  // actual: 21".
  if (nonceMax !== undefined && expected !== undefined && nonceMax >= expected)
    return pool.limit(nonceMax - expected + 1)
  const isNext = frontierOf(sequence) >= segment.nonce
  const lacking = expected ?? (isNext ? sequence.acknowledgedTo : undefined)
  const missing =
    lacking === undefined || lacking >= segment.nonce ? undefined : sequence.segments.get(lacking)
  const wasThere = missing?.state === 'taken' && missing.answered.atMs <= request.sentAtMs
  if (missing && (wasThere || missing.state === 'unanswered')) lose(state, missing, 'answer')
  // The endpoint lags behind the nonces that it accepted itself, or behind other endpoints: the nonce is sent
  // again after a pause.
  else if (isNext && missing?.state !== 'lost') effects.isLater = true
}

/**
 * The meaning of one endpoint's answer to one send, for delivery.
 *
 * - `taken`: the endpoint has a transaction at this nonce. The answer does not prove that the pool keeps
 *   it. `isKnown`: the endpoint reports that its pool already had these bytes.
 * - `occupied`: the endpoint has another transaction at this nonce, or counts the nonce as used, and does
 *   not replace it with these bytes.
 * - `gapped`: a negative acknowledgement. The endpoint lacks a lower nonce, which is `expected` if the
 *   endpoint names it.
 * - `full`: the pool, or this account's share of it, has no room for the nonce.
 * - `later`: not accepted now, but the same bytes may be accepted later. The answer gives no information
 *   about the pool.
 * - `limited`: not accepted because of a rate limit. The request budget decides when the next request may
 *   leave.
 * - `refused`: the endpoint does not accept these bytes. The delivery waits until other bytes, or the same
 *   bytes again, are offered.
 * - `unanswered`: the request may or may not have arrived.
 */
export type SendAnswer =
  | { readonly kind: 'taken'; readonly isKnown?: true }
  | { readonly kind: 'occupied' }
  | { readonly kind: 'full' }
  | { readonly kind: 'later' }
  | { readonly kind: 'limited' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'gapped'; readonly expected: number | undefined; readonly nonceMax: number | undefined }

const TAKEN = { kind: 'taken' } as const
const KNOWN = { kind: 'taken', isKnown: true } as const
const OCCUPIED = { kind: 'occupied' } as const
const FULL = { kind: 'full' } as const
const LATER = { kind: 'later' } as const
const LIMITED = { kind: 'limited' } as const
const REFUSED = { kind: 'refused' } as const
const UNANSWERED = { kind: 'unanswered' } as const

/** Reduces the classifier's outcome to the cases that delivery distinguishes. */
export function answerOf({ outcome, reason, expectedNonce, nonceMax }: SendOutcome): SendAnswer {
  if (outcome === 'accepted') return reason === 'alreadyKnown' ? KNOWN : TAKEN
  if (outcome === 'intrinsic') return REFUSED
  switch (reason) {
    case 'nonceTooLow':
    case 'replacementUnderpriced':
      return OCCUPIED
    case 'nonceTooHigh':
      return { kind: 'gapped', expected: expectedNonce, nonceMax }
    case 'poolFull':
    case 'delegatedLimit':
      return FULL
    case 'rateLimited':
      return LIMITED
    case 'notReady':
    case 'insufficientFunds':
      return LATER
    default:
      return outcome === 'unknown' ? UNANSWERED : REFUSED
  }
}
