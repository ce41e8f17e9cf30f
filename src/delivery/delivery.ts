import { type CountReading, countDueAt, isLearning, noteAsked, takeCount } from './count.js'
import {
  type Confirmation,
  isPauseOver,
  isSilenceDue,
  lose,
  quietUntil,
  type Refresh,
  takeConfirmation,
  takeRefresh,
} from './retransmit.js'
import { type Allowance, type Demand, limitTo, type Selection, select } from './select.js'
import { forget, offer, type Sending, setState, uncount } from './sequence.js'
import { type RequestEnd, settle } from './settle.js'
import {
  createState,
  type DeliveryOptions,
  type DeliveryState,
  type EndpointTraits,
  gapBudgetOf,
  headOf,
  isCounting,
  poolEndOf,
} from './state.js'

/**
 * The next action for the shell. `wait`: nothing to do before `untilMs` (undefined: nothing at all) unless
 * another event happens.
 */
export type DeliveryAction =
  | {
      readonly do: 'send'
      /** Identifies the request when its end is reported. */
      readonly request: number
      readonly nonces: readonly number[]
      /** The last call of the request is `eth_getTransactionCount` at `pending`. */
      readonly count: boolean
      /**
       * `repair`: a nonce that is missing at the endpoint, or other bytes of a nonce. Repairs go before new
       * nonces. `sync`: the endpoint is asked to answer the single nonce with its receipt.
       */
      readonly kind: Selection['kind']
    }
  | { readonly do: 'count' }
  /**
   * A count shows that the endpoint has this nonce, whose answer was lost. It stands in for the answer.
   * `bytes`: the identity of the newest bytes that were sent, if they were offered with one.
   */
  | { readonly do: 'accept'; readonly nonce: number; readonly bytes: string | undefined }
  | { readonly do: 'wait'; readonly untilMs: number | undefined }

/**
 * The delivery of one account's nonces to one endpoint, modelled on TCP: ordered, with cumulative
 * acknowledgements, a congestion window and fast retransmit. It is pure: no I/O, no clock, no randomness. The
 * same events at the same times give the same actions.
 *
 * How the shell drives it:
 *
 * 1. The shell creates one delivery for each endpoint that receives the account's transactions, with the
 *    account's `latest` count. It passes the traits of the endpoint's profile to `know`, again after each
 *    change.
 * 2. It calls `offer` when the bytes of a nonce are in the store and have to go to this endpoint. It calls
 *    `offer` again when the nonce has other bytes (a bump, a no-op, a replacement), or to retry bytes that
 *    the endpoint did not accept. It does not have to handle loss.
 * 3. After each event it calls `next`, performs the action, and repeats until the action is `wait`. It
 *    passes a function that requests a grant from the request budget, the lowest nonce whose bytes are
 *    not in the store yet, and whether a caller waits for a receipt. It performs a `send` at once, with the
 *    newest bytes of each nonce in the given order, and treats an `accept` like an endpoint's answer that the
 *    bytes are there. At `untilMs` it calls `next` again.
 * 4. It reports the end of each request to `ended`, with its own timeout as `failed`, and the end of a
 *    `count` to `counted` or `countFailed`. It also reports every other `pending` count that was read from
 *    the same endpoint.
 * 5. It reports each new pending block and each new sealed block to `refreshed`, once, in the order of the
 *    chain. It reports every other change of the confirmed nonces to `confirmed`.
 * 6. It calls `withdraw` for a nonce that must no longer go to this endpoint, and `reclaim` when another
 *    endpoint takes over.
 *
 * Acknowledgements free nothing and settle nothing: only blocks decide the fate of a nonce.
 */
export type Delivery = {
  know(traits: Partial<EndpointTraits>): void
  /**
   * `size`: the characters that its bytes take in a request. `bytes` identifies the bytes, so that the same
   * bytes are recognised.
   */
  offer(nonce: number, size: number, bytes?: string): void
  /**
   * The nonce makes no progress, so other endpoints received it as well: a body that contains it no longer
   * proves that this endpoint delivered it.
   */
  sentElsewhere(nonce: number): void
  withdraw(nonce: number): void
  /** Forgets and returns the nonces that this endpoint does not have, for another endpoint. */
  reclaim(): readonly number[]
  /** True if the nonce was offered, and is neither confirmed nor withdrawn. */
  has(nonce: number): boolean
  /**
   * True if the endpoint does not accept its bytes: they are not sent again before these or other bytes are
   * offered.
   */
  isRefused(nonce: number): boolean
  /**
   * True if the nonce was accepted again after it was lost, and the count of the pool still lacks it: another
   * copy changes nothing.
   */
  isStranded(nonce: number): boolean
  ended(request: number, end: RequestEnd, atMs: number): void
  counted(reading: CountReading): void
  countFailed(): void
  /**
   * Returns false if the refresh gives no information about the lowest unacknowledged nonce, because that may
   * not have arrived when the refresh was requested.
   */
  refreshed(refresh: Refresh): boolean
  /**
   * Reports the confirmed nonces after a change without a new block: a feed showed it, or it was taken back.
   */
  confirmed(confirmation: Confirmation): void
  next(allowance: Allowance): DeliveryAction
  /** A live view: each value is current at the moment of reading. */
  readonly status: DeliveryStatus
}

export type DeliveryStatus = {
  readonly acknowledgedTo: number
  /** The lowest nonce that was never sent. */
  readonly next: number
  /** All offered nonces lie below it. */
  readonly end: number
  readonly outstanding: number
  /** The number of nonces that were offered and are not at the endpoint. */
  readonly waiting: number
  /** The lowest nonce that is known to be missing. */
  readonly missing: number | undefined
  readonly window: number
  readonly pool: number
  /**
   * The maximum number of nonces that may be at the endpoint without being sealed or acknowledged: the
   * smallest of all bounds.
   */
  readonly most: number
  readonly batch: number
  /** The largest window without a loss, to be stored in the endpoint's profile. */
  readonly windowProven: number
  /**
   * How many more nonces may be assigned to keep this endpoint busy without a queue longer than its window.
   */
  readonly room: number
  /** How many nonces the endpoint keeps above a missing one. */
  readonly gapBudget: number
}

const STRANDED_LOSSES = 2

export function createDelivery(options: DeliveryOptions): Delivery {
  const state = createState(options)
  const { sequence } = state
  return {
    know: (traits) => know(state, traits),
    offer: (nonce, size, bytes) => offer(sequence, nonce, size, bytes),
    sentElsewhere(nonce) {
      const segment = sequence.segments.get(nonce)
      if (segment) segment.sentElsewhere = true
    },
    withdraw: (nonce) => forget(sequence, nonce),
    reclaim: () => reclaim(state),
    has: (nonce) => sequence.segments.has(nonce),
    isRefused(nonce) {
      const { state: segmentState, occupied = false } = sequence.segments.get(nonce) ?? {}
      return segmentState === 'refused' || occupied
    },
    isStranded(nonce) {
      const isNext = isCounting(state) && nonce === sequence.acknowledgedTo
      return isNext && (sequence.segments.get(nonce)?.losses ?? 0) >= STRANDED_LOSSES
    },
    ended: (request, end, atMs) => settle(state, request, end, atMs),
    counted(reading) {
      if (reading.askedAtMs >= state.count.askedAtMs) state.count.isOpen = false
      takeCount(state, reading)
    },
    countFailed() {
      if (state.count.isOpen) state.count.failures++
      state.count.isOpen = false
    },
    refreshed: (refresh) => takeRefresh(state, refresh),
    confirmed: (confirmation) => takeConfirmation(state, confirmation),
    next: (allowance) => next(state, allowance),
    status: statusOf(state),
  }
}

function know(state: DeliveryState, traits: Partial<EndpointTraits>): void {
  const { countsMempool: counted } = state.traits
  state.traits = { ...state.traits, ...traits }
  if (state.traits.countsMempool === true || state.traits.countsMempool === counted) return
  // Counts no longer show which nonces arrived, and no later count would refute one that was too high.
  uncount(state.sequence, state.sequence.confirmedTo)
  for (const segment of state.sequence.segments.values())
    if (segment.state === 'unanswered') setState(state.sequence, segment, 'lost')
}

function reclaim({ sequence }: DeliveryState): number[] {
  const nonces: number[] = []
  for (const { nonce, state } of sequence.segments.values())
    if (state === 'new' || state === 'lost') nonces.push(nonce)
  for (const nonce of nonces) forget(sequence, nonce)
  return nonces
}

function next(state: DeliveryState, allowance: Allowance): DeliveryAction {
  const { nowMs, grant } = allowance
  const counted = state.sequence.counted.shift()
  if (counted) return { do: 'accept', ...counted }
  loseSilent(state, nowMs)
  const selection = select(state, allowance)
  const granted = selection && limitTo(state, selection, grant(demandOf(selection)))
  if (granted) return send(state, granted, nowMs)
  const countAt = countDueAt(state)
  if (!selection && countAt !== undefined && countAt <= nowMs && grant(ONE_COUNT) >= 1) {
    noteAsked(state, nowMs)
    return { do: 'count' }
  }
  return { do: 'wait', untilMs: wakeAt(state, nowMs, countAt) }
}

const ONE_COUNT: Demand = { kind: 'count', calls: 1 }

const demandOf = ({ kind, nonces, count }: Selection): Demand => ({
  kind,
  calls: nonces.length + Number(count),
})

function loseSilent(state: DeliveryState, nowMs: number): void {
  const head = headOf(state)
  if (head !== undefined && nowMs >= quietUntil(state, head) && isSilenceDue(state, head, nowMs))
    lose(state, head, 'silence')
}

function send(state: DeliveryState, { kind, nonces, count }: Selection, nowMs: number): DeliveryAction {
  const { sequence, window, requests } = state
  const id = ++state.lastRequest
  // A count that was read before gives no information about the nonces that leave now.
  if (kind !== 'repair' && nonces[0] !== undefined) uncount(sequence, nonces[0])
  const sync = kind === 'sync'
  if (isLearning(state) && !sync) state.count.trials++
  const calls = nonces.length + Number(count)
  requests.set(id, { id, nonces, calls, sentAtMs: nowMs, hasCount: count, sync, abandoned: false })
  const { refreshes: refresh, sealed } = state
  const sent: Sending = { request: id, atMs: nowMs, refresh, sealed, latest: sequence.latest }
  for (const nonce of nonces) {
    const segment = sequence.segments.get(nonce)
    if (segment === undefined) continue
    segment.sent = sent
    segment.behindGap = undefined
    segment.sentElsewhere = false
    segment.silent = false
    setState(sequence, segment, 'inFlight')
    sequence.sentTo = Math.max(sequence.sentTo, nonce + 1)
  }
  if (sequence.outstanding >= window.size) window.filled(sequence.next)
  return { do: 'send', request: id, nonces, count, kind }
}

function wakeAt(state: DeliveryState, nowMs: number, countAt: number | undefined): number | undefined {
  const times = [countAt, state.retryAtMs]
  const head = headOf(state)
  if (head !== undefined && !isCounting(state)) times.push(quietUntil(state, head))
  const lost = state.sequence.segments.get(state.sequence.acknowledgedTo)
  if (lost?.state === 'lost' && !isPauseOver(state, lost, nowMs))
    times.push(quietUntil(state, lost, lost.losses - 1))
  const later = times.filter((time): time is number => time !== undefined && time > nowMs)
  return later.length === 0 ? undefined : Math.min(...later)
}

/**
 * A view with getters, because it is read for every transaction: values that no caller reads are not
 * computed.
 */
function statusOf(state: DeliveryState): DeliveryStatus {
  const { sequence, window, pool, batch } = state
  const waiting = () => sequence.lost + sequence.end - sequence.next
  return {
    get acknowledgedTo() {
      return sequence.acknowledgedTo
    },
    get next() {
      return sequence.next
    },
    get end() {
      return sequence.end
    },
    get outstanding() {
      return sequence.outstanding
    },
    get waiting() {
      return waiting()
    },
    get missing() {
      const first = sequence.segments.get(sequence.acknowledgedTo)
      const isMissing = first?.state === 'lost' || first?.state === 'refused'
      return isMissing ? first.nonce : undefined
    },
    get window() {
      return window.size
    },
    get pool() {
      return pool.size
    },
    get most() {
      return Math.min(window.size, poolEndOf(state) - sequence.latest)
    },
    get batch() {
      return batch.size
    },
    get windowProven() {
      return window.proven
    },
    get room() {
      // The limit of an account may be permanent: no nonce is assigned ahead of it.
      const ahead = state.traits.accountMax === undefined ? window.size : 0
      return Math.min(
        2 * window.size - sequence.outstanding - waiting(),
        poolEndOf(state) + ahead - sequence.end,
      )
    },
    get gapBudget() {
      return gapBudgetOf(state)
    },
  }
}
