import { acknowledge, type Segment, setMissing, setState, uncount } from './sequence.js'
import { type DeliveryState, gapBudgetOf, headOf, isCounting, unprovenFromMs } from './state.js'

/**
 * How a nonce was found missing: by the `pending` count, by the endpoint's own answer, or by refreshes
 * without it.
 */
export type LossCause = 'count' | 'answer' | 'silence'

/**
 * Refreshes without any of our nonces after which the lowest one is missing. One refresh may have been built
 * before it arrived.
 */
const SILENT_REFRESHES = 2
/** Applies if no refresh arrives at all: some nodes only make a block for a transaction. */
const QUIET_MS_MIN = 10_000
const QUIET_REFRESHES = 3
const REFRESH_MS_UNKNOWN = 5_000
const REFRESH_MS_MAX = 20_000
const QUIET_MS_MAX = 300_000
/** Blocks within this time count as one: a nonce that stays silent gets no copy for each block of a fast chain. */
const SILENT_MS_MIN = 2_000
/** Several blocks may come within a second, and some nodes ban a client that repeats itself. */
const RETRY_MS_MIN = 1_000

/**
 * Marks the nonce as missing at the endpoint. It is sent again, together with the nonces that cannot be there
 * either: the rest of a request without an answer, and the nonces further above the missing one than the
 * endpoint keeps. A full pool drops the highest nonces and keeps none of them.
 */
export function lose(state: DeliveryState, head: Segment, cause: LossCause): void {
  const { sequence, window } = state
  const isRepeated = cause === 'silence' && head.losses > 0
  const isCut = boundPool(state, head, cause)
  const budget = isCut ? 0 : gapBudgetOf(state)
  const { request } = head.sent
  if (head.state === 'taken' || cause === 'silence') head.losses++
  // A request that was lost on its way gives no information about the number of nonces that the endpoint
  // accepts.
  if (head.state === 'taken' || cause === 'silence') window.loss(sequence.acknowledgedTo, sequence.next)
  // Silence may mean that the blocks are full. A count is certain, and shows when all earlier nonces are
  // there.
  if (cause !== 'answer') state.hole = cause === 'silence' ? head.nonce : sequence.next - 1
  state.suspect = undefined
  // A count that includes the mempool would have shown the loss sooner: one more trial may show whether it
  // does.
  if (cause === 'silence') state.count.trials = Math.max(0, state.count.trials - 1)
  abandon(state, request)
  // Blocks without the nonce do not show the contents of the pool.
  if (cause !== 'silence') setMissing(sequence, head)
  let kept = 0
  // From the second time on, a wrong guess costs only one call.
  const end = isRepeated && head.state === 'taken' ? head.nonce + 1 : sequence.next
  for (const segment of sequence.segments.between(head.nonce, end)) {
    if (segment.state === 'lost' || segment.state === 'refused') continue
    const isWithHead = segment.state === 'inFlight' && segment.sent.request === request
    if (segment === head || segment.state === 'unanswered' || isWithHead) setState(sequence, segment, 'lost')
    else if (kept < budget) {
      kept++
      segment.behindGap = 'kept'
    } else if (segment.state === 'taken') setState(sequence, segment, 'lost')
    segment.behindGap ??= 'beyond'
  }
}

/**
 * Whether the endpoint has no nonce above this one either. That is the case if the nonce should have been
 * kept above a missing one, or if the pool never held as many. Two facts bound the pool: it never held as
 * many, or counts lack the same nonce twice although no block made room in between. Every other case is an
 * ordinary loss, since with each new block geth cuts an account to its executable nonces and 64 others,
 * whatever the pool holds (`runReorg` in `core/txpool/legacypool`).
 */
function boundPool(state: DeliveryState, head: Segment, cause: LossCause): boolean {
  const { sequence, pool, dropped } = state
  if (cause === 'silence') boundBySilence(state, head)
  const isKept = head.behindGap === 'kept'
  if (cause !== 'count' || head.state !== 'taken') return isKept
  const { nonce, behindGap } = head
  const held = nonce - sequence.latest
  if (behindGap === undefined) pool.dropped(held)
  const isFull = behindGap === undefined && held >= pool.proven
  state.dropped = { nonce, held }
  if (behindGap === undefined && nonce === dropped?.nonce && held === dropped.held) pool.droppedTwice(held)
  else if (isFull) pool.loss(held)
  return isFull || isKept
}

/**
 * Blocks contained the nonces below this one, but not this one, which the endpoint had accepted. Either the
 * blocks are full or the pool dropped it. If that happens twice above the same number of nonces, that number
 * is the limit of the pool, unless the pool answers the next copy with "already known". Without this bound
 * each repair sends every waiting nonce, and the transactions in the pool land only once in three blocks.
 */
function boundBySilence(
  state: DeliveryState,
  { state: segmentState, behindGap, nonce, sent }: Segment,
): void {
  const held = nonce - sent.latest
  if (segmentState !== 'taken' || behindGap !== undefined || held <= 0) return
  if (held === state.dropped?.held) state.pool.droppedTwice(held)
  state.dropped = { nonce, held }
}

/** Marks the request as abandoned if it is still open. */
function abandon({ requests }: DeliveryState, id: number): void {
  const request = requests.get(id)
  if (request) request.abandoned = true
}

/**
 * Whether a nonce that was lost before may be sent again. The first copy leaves at once. Each further copy
 * waits for a pause that doubles from two refreshes up to one sealed block, or two seconds of them.
 */
export function isPauseOver(state: DeliveryState, segment: Segment, nowMs: number): boolean {
  const sent = segment.losses - 1
  return sent < 1 || hasWaited(state, segment, sent, nowMs) || nowMs >= quietUntil(state, segment, sent)
}

function hasWaited(state: DeliveryState, segment: Segment, doublings: number, nowMs: number): boolean {
  const refreshes = state.refreshes - Math.max(segment.sent.refresh, state.progressRefresh)
  if (refreshes >= SILENT_REFRESHES * 2 ** doublings) return true
  if (state.sealed <= segment.sent.sealed) return false
  // If the nonce is known to be missing, one block is enough: it may have made room.
  if (segment.state === 'lost') return true
  return refreshes >= SILENT_REFRESHES && nowMs - segment.sent.atMs >= SILENT_MS_MIN
}

/** The time from which the absence of any refresh counts like the refreshes themselves. */
export function quietUntil(state: DeliveryState, segment: Segment, doublings = segment.losses): number {
  const pauseMs = Math.min(QUIET_MS_MAX, quietMsOf(state) * 2 ** doublings)
  return Math.max(segment.sent.atMs, state.refreshedAtMs) + pauseMs
}

/** The time without a refresh after which none is expected. */
export function quietMsOf({ refreshMs }: DeliveryState): number {
  const usualMs = QUIET_REFRESHES * Math.min(refreshMs ?? REFRESH_MS_UNKNOWN, REFRESH_MS_MAX)
  return Math.max(QUIET_MS_MIN, usualMs)
}

/** Without a mempool count, refreshes without any of our nonces show that the lowest nonce is missing. */
export function isSilenceDue(state: DeliveryState, head: Segment, nowMs: number): boolean {
  if (head.occupied || isCounting(state)) return false
  return hasWaited(state, head, head.losses, nowMs) || nowMs >= quietUntil(state, head)
}

/** The state of the account according to bodies. */
export type Confirmation = {
  /** All nonces below were used in sealed blocks. It may decrease in a reorg. */
  readonly latest: number
  /** All nonces below are in sealed or pre-confirmed bodies, without a gap. It may decrease. */
  readonly confirmedTo: number
}

/** A pending or sealed block, as the block poller saw it. */
export type Refresh = Confirmation & {
  readonly atMs: number
  /** When the endpoint received the request for the block. */
  readonly askedAtMs: number
  /** True for a sealed block. */
  readonly sealed: boolean
}

export function takeConfirmation(state: DeliveryState, { latest, confirmedTo }: Confirmation): void {
  const { sequence } = state
  const hasMoved = confirmedTo > sequence.confirmedTo
  const held = confirmedTo - sequence.latest
  const broughtAtMs = newestSentAtMs(sequence, confirmedTo)
  const isByOthers = hasMoved && isSentElsewhere(sequence, confirmedTo)
  noteAcknowledged(state, acknowledge(sequence, { latest, confirmedTo, countedTo: sequence.countedTo }))
  if (!hasMoved || isByOthers) return
  state.pool.holds(held)
  // A block contains a nonce that left later than a nonce which it lacks: the missing one had enough time to
  // arrive (RFC 8985).
  const isOvertaken = (headOf(state)?.sent.atMs ?? broughtAtMs) < broughtAtMs
  state.progressRefresh = isOvertaken ? state.refreshes - 1 : state.refreshes
}

/**
 * Whether other endpoints received all nonces that a body is about to confirm, because this endpoint made no
 * progress.
 */
function isSentElsewhere({ segments, confirmedTo: from }: DeliveryState['sequence'], to: number): boolean {
  let isAny = false
  for (const { sentElsewhere } of segments.between(from, to)) {
    if (!sentElsewhere) return false
    isAny = true
  }
  return isAny
}

/** When the newest copy left among the nonces that a body is about to confirm. */
function newestSentAtMs({ segments, confirmedTo: from }: DeliveryState['sequence'], to: number): number {
  let newestMs = Number.NEGATIVE_INFINITY
  for (const { sent } of segments.between(from, to)) newestMs = Math.max(newestMs, sent.atMs)
  return newestMs
}

/**
 * Returns false if the refresh gives no information about the lowest unacknowledged nonce, because that may
 * not have arrived when the refresh was requested.
 */
export function takeRefresh(state: DeliveryState, refresh: Refresh): boolean {
  const { atMs, askedAtMs, sealed } = refresh
  const { pool, batch, trip } = state
  state.refreshes++
  const gapMs = atMs - state.refreshedAtMs
  if (Number.isFinite(gapMs)) state.refreshMs = Math.max(gapMs, ((state.refreshMs ?? gapMs) + gapMs) / 2)
  state.refreshedAtMs = atMs
  if (sealed) {
    state.sealed++
    pool.sealed(state.isPoolBound, batch.size, atMs)
    state.isPoolBound = false
    // A block may have fixed the reason of the failure: it may have brought funds, or the endpoint may work
    // again.
    state.retryAtMs = Math.min(state.retryAtMs, Math.max(atMs, state.failedAtMs + RETRY_MS_MIN))
  }
  takeConfirmation(state, refresh)
  // No other count is requested from such an endpoint.
  if (state.traits.countsMempool !== true && unprovenFromMs(state) <= atMs)
    uncount(state.sequence, state.sequence.confirmedTo)
  const head = headOf(state)
  if (head === undefined) return true
  // A nonce that may not have arrived when the refresh was requested is not missing. If no round trip was
  // measured yet, that of the refresh itself is used.
  const tripMs = trip.ms > 0 ? trip.ms : atMs - askedAtMs
  if (head.sent.atMs + tripMs > askedAtMs) {
    head.sent = { ...head.sent, refresh: state.refreshes }
    return false
  }
  if (isSilenceDue(state, head, atMs)) lose(state, head, 'silence')
  return true
}

/** The acknowledgement may have moved from `before`. */
export function noteAcknowledged(state: DeliveryState, before: number): void {
  const { sequence, window, pool, batch } = state
  const { acknowledgedTo } = sequence
  pool.holds(sequence.countedTo - sequence.latest)
  if (acknowledgedTo <= before) return
  window.acknowledged(before, acknowledgedTo, batch.size)
  if (acknowledgedTo > (state.hole ?? Number.POSITIVE_INFINITY)) state.hole = undefined
  state.suspect = undefined
}
