import { acknowledge, type Segment, setMissing, setState, uncount } from './sequence.js'
import { type DeliveryState, gapBudgetOf, headOf, isCounting, isUnproven } from './state.js'

/** How a nonce was found missing: by the `pending` count, by the endpoint's own words, or by refreshes without it. */
export type LossCause = 'count' | 'answer' | 'silence'

/** Refreshes without a nonce of ours that make the lowest one missing: one may have been built before it arrived. */
const SILENT_REFRESHES = 2
/** Where no refresh comes at all: some nodes make a block only for a transaction. */
const QUIET_MS_MIN = 10_000
const QUIET_REFRESHES = 3
const REFRESH_MS_UNKNOWN = 5_000
const REFRESH_MS_MAX = 20_000
const QUIET_MS_MAX = 300_000
/** Blocks may come several a second. Some nodes ban a client that repeats itself. */
const RETRY_MS_MIN = 1_000

/**
 * The nonce is missing at the endpoint. It is sent again, and with it what cannot be there either: the rest of a request
 * without an answer, and what lies further above the missing nonce than the endpoint keeps. A full pool drops the highest
 * nonces without keeping any.
 */
export function lose(state: DeliveryState, head: Segment, cause: LossCause): void {
  const { sequence, window } = state
  const isRepeated = cause === 'silence' && head.losses > 0
  const isCut = boundPool(state, head, cause)
  const budget = isCut ? 0 : gapBudgetOf(state)
  const { request } = head.sent
  if (head.state === 'taken' || cause === 'silence') head.losses++
  // A request that got lost on its way says nothing of how many the endpoint takes.
  if (head.state === 'taken' || cause === 'silence') window.loss(sequence.acknowledgedTo, sequence.next)
  // Silence may mean that the blocks are full. A count is sure, and shows when all that was sent before is there.
  if (cause !== 'answer') state.hole = cause === 'silence' ? head.nonce : sequence.next - 1
  state.suspect = undefined
  // A count that includes the mempool would have shown it sooner: one more may show whether it does.
  if (cause === 'silence') state.count.trials = Math.max(0, state.count.trials - 1)
  abandon(state, request)
  // Blocks without it do not show what the pool holds.
  if (cause !== 'silence') setMissing(sequence, head)
  let kept = 0
  // A wrong guess costs one call from the second time on.
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
 * Whether the endpoint has nothing above this one either: it should have been kept above a missing one, or the pool never
 * held as many. Two things bound the pool: that it never held as many, and that counts lack the same nonce twice although
 * no block made room between. All else is a loss like any other, since geth cuts an account with each new block, whatever
 * the pool holds, to the nonces that were executable and 64 others (`runReorg` in `core/txpool/legacypool`).
 */
function boundPool(state: DeliveryState, head: Segment, cause: LossCause): boolean {
  const { sequence, pool, dropped } = state
  if (cause === 'silence') boundBySilence(state, head)
  const isKept = head.behindGap === 'kept'
  if (cause !== 'count' || head.state !== 'taken') return isKept
  const { nonce, behindGap } = head
  const held = nonce - sequence.latest
  const isFull = behindGap === undefined && held >= pool.proven
  state.dropped = { nonce, held }
  if (behindGap === undefined && nonce === dropped?.nonce && held === dropped.held) pool.limit(held)
  else if (isFull) pool.loss(held)
  return isFull || isKept
}

/**
 * Blocks contained the nonces below this one, and not this one, which the endpoint had taken. Either the blocks are full or
 * the pool dropped it. Where it happens twice above the same number of nonces, that number is the limit of the pool, unless
 * the pool answers the next copy with "already known". Without this bound each repair sends everything that waits, and what
 * the pool holds lands once in three blocks.
 */
function boundBySilence(
  state: DeliveryState,
  { state: segmentState, behindGap, nonce, sent }: Segment,
): void {
  const held = nonce - sent.latest
  if (segmentState !== 'taken' || behindGap !== undefined || held <= 0) return
  if (held === state.dropped?.held) state.pool.limit(held)
  state.dropped = { nonce, held }
}

/** Where it is still open. */
function abandon({ requests }: DeliveryState, id: number): void {
  const request = requests.get(id)
  if (request) request.abandoned = true
}

/**
 * Whether a nonce that was lost before may be sent again: the first copy leaves at once, each further one after a pause
 * that doubles from two refreshes up to one sealed block.
 */
export function isPauseOver(state: DeliveryState, segment: Segment, nowMs: number): boolean {
  const sent = segment.losses - 1
  return sent < 1 || hasWaited(state, segment, sent) || nowMs >= quietUntil(state, segment, sent)
}

function hasWaited(state: DeliveryState, segment: Segment, doublings: number): boolean {
  const refreshes = state.refreshes - Math.max(segment.sent.refresh, state.progressRefresh)
  if (refreshes >= SILENT_REFRESHES * 2 ** doublings) return true
  const blocks = state.sealed - segment.sent.sealed
  // Where it is known to be missing, one block is enough.
  return blocks > 0 && (refreshes >= SILENT_REFRESHES || segment.state === 'lost')
}

/** When the time without any refresh is long enough to stand for the refreshes. */
export function quietUntil(state: DeliveryState, segment: Segment, doublings = segment.losses): number {
  const pauseMs = Math.min(QUIET_MS_MAX, quietMsOf(state) * 2 ** doublings)
  return Math.max(segment.sent.atMs, state.refreshedAtMs) + pauseMs
}

/** Without a refresh for so long none is to be waited for. */
export function quietMsOf({ refreshMs }: DeliveryState): number {
  const usualMs = QUIET_REFRESHES * Math.min(refreshMs ?? REFRESH_MS_UNKNOWN, REFRESH_MS_MAX)
  return Math.max(QUIET_MS_MIN, usualMs)
}

/** Without a count of the mempool, refreshes that bring none of ours are what says that the lowest nonce is missing. */
export function isSilenceDue(state: DeliveryState, head: Segment, nowMs: number): boolean {
  if (head.occupied || isCounting(state)) return false
  return hasWaited(state, head, head.losses) || nowMs >= quietUntil(state, head)
}

/** What bodies show of the account. */
export type Confirmation = {
  /** The account's nonces used in sealed blocks: all below it. May fall in a reorg. */
  readonly latest: number
  /** The nonces in sealed or pre-confirmed bodies, without a break: all below it. May fall. */
  readonly confirmedTo: number
}

/** The pending block, or a sealed one, as the chain's follower saw it. */
export type Refresh = Confirmation & {
  readonly atMs: number
  /** When the endpoint was asked for what it shows. */
  readonly askedAtMs: number
  /** It was a sealed block. */
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
  // A block lacks a nonce that left before another one which it brings: that one had the time to arrive (RFC 8985).
  const isOvertaken = (headOf(state)?.sent.atMs ?? broughtAtMs) < broughtAtMs
  state.progressRefresh = isOvertaken ? state.refreshes - 1 : state.refreshes
}

/** Other endpoints were sent everything that a body is about to confirm, since this one had not brought it. */
function isSentElsewhere({ segments, confirmedTo: from }: DeliveryState['sequence'], to: number): boolean {
  let isAny = false
  for (const { sentElsewhere } of segments.between(from, to)) {
    if (!sentElsewhere) return false
    isAny = true
  }
  return isAny
}

/** When the newest copy left among those that a body is about to confirm. */
function newestSentAtMs({ segments, confirmedTo: from }: DeliveryState['sequence'], to: number): number {
  let newestMs = Number.NEGATIVE_INFINITY
  for (const { sent } of segments.between(from, to)) newestMs = Math.max(newestMs, sent.atMs)
  return newestMs
}

/** False where it says nothing of the lowest unacknowledged nonce, which may not have arrived when it was asked for. */
export function takeRefresh(state: DeliveryState, refresh: Refresh): boolean {
  const { atMs, askedAtMs, sealed } = refresh
  const { pool, batch, trip } = state
  state.refreshes++
  const gapMs = atMs - state.refreshedAtMs
  if (Number.isFinite(gapMs)) state.refreshMs = Math.max(gapMs, ((state.refreshMs ?? gapMs) + gapMs) / 2)
  state.refreshedAtMs = atMs
  if (sealed) {
    state.sealed++
    pool.sealed(state.isPoolBound, batch.size)
    state.isPoolBound = false
    // A block may have brought what was lacking: money, or an endpoint that works again.
    state.retryAtMs = Math.min(state.retryAtMs, Math.max(atMs, state.failedAtMs + RETRY_MS_MIN))
  }
  takeConfirmation(state, refresh)
  // Nobody asks such an endpoint for another count.
  if (state.traits.countsMempool !== true && isUnproven(state))
    uncount(state.sequence, state.sequence.confirmedTo)
  const head = headOf(state)
  if (head === undefined) return true
  // What may not have arrived when it was asked for is not missed. The look's own round trip stands for one to measure.
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
