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

/** What the shell is to do next. `wait`: nothing before `untilMs` (undefined: nothing at all) unless something happens. */
export type DeliveryAction =
  | {
      readonly do: 'send'
      /** Names the request when its end is reported. */
      readonly request: number
      readonly nonces: readonly number[]
      /** The last call of the request is `eth_getTransactionCount` at `pending`. */
      readonly count: boolean
      /** `repair`: something that is missing at the endpoint, or other bytes of a nonce. It goes before what is new. */
      readonly kind: Selection['kind']
    }
  | { readonly do: 'count' }
  | { readonly do: 'wait'; readonly untilMs: number | undefined }

/**
 * The delivery of one account's nonces to one endpoint, after TCP: ordered, with cumulative acknowledgements, a
 * congestion window and fast retransmit. It is pure: no I/O, no clock, no randomness. The same events at the same times
 * bring the same actions.
 *
 * How the shell drives it:
 *
 * 1. It makes one for each endpoint that takes the account's transactions, with the account's `latest` count, and passes
 *    what the endpoint's profile says to `know`, again after each change.
 * 2. It calls `offer` when bytes of a nonce are in the store and are to go to this endpoint, and again when the nonce has
 *    other bytes (a bump, a no-op, a replacement), or when bytes that the endpoint did not take are to be tried once more.
 *    Loss is not its business.
 * 3. After each event it calls `next`, performs the action, and goes on until the action is `wait`. It passes what asks
 *    the request budget for a grant, and the lowest nonce whose bytes are not in the store yet. A `send` is performed at
 *    once, with the newest bytes of each nonce in the order given. At `untilMs` it calls `next` again.
 * 4. It reports the end of each request to `ended`, with its own timeout as `failed`, and the end of a `count` to
 *    `counted` or `countFailed`. It reports every `pending` count of the same endpoint that others asked for, too.
 * 5. It reports each new pending block and each new sealed block to `refreshed`, once, in the order of the chain; and to
 *    `confirmed` what else moved the confirmed nonces.
 * 6. It calls `withdraw` for a nonce that is not to go to this endpoint any more, and `reclaim` when another endpoint takes
 *    over.
 *
 * Acknowledgements free nothing and settle nothing: what became of a nonce is decided by the blocks alone.
 */
export type Delivery = {
  know(traits: Partial<EndpointTraits>): void
  /** `size`: characters that its bytes take in a request. `bytes` names them, so that the same ones are known. */
  offer(nonce: number, size: number, bytes?: string): void
  /** Other endpoints are sent the nonce as well, since it stands still: a body that has it says nothing of this endpoint. */
  sentElsewhere(nonce: number): void
  withdraw(nonce: number): void
  /** Forgets and returns what this endpoint does not have: for another endpoint. */
  reclaim(): readonly number[]
  /** It was offered, and is neither confirmed nor withdrawn. */
  has(nonce: number): boolean
  /** The endpoint does not take its bytes: they are not sent again before they, or others, are offered. */
  isRefused(nonce: number): boolean
  /** It was taken again after it was lost, and the count of the pool lacks it still: another copy changes nothing. */
  isStranded(nonce: number): boolean
  ended(request: number, end: RequestEnd, atMs: number): void
  counted(reading: CountReading): void
  countFailed(): void
  /** False where it says nothing of the lowest unacknowledged nonce, which may not have arrived when it was asked for. */
  refreshed(refresh: Refresh): boolean
  /** What is confirmed now, where no block is the reason: a feed showed it, or it was taken back. */
  confirmed(confirmation: Confirmation): void
  next(allowance: Allowance): DeliveryAction
  /** Each value is that of the moment at which it is read. */
  readonly status: DeliveryStatus
}

export type DeliveryStatus = {
  readonly acknowledgedTo: number
  /** The lowest nonce that was never sent. */
  readonly next: number
  /** All offered nonces lie below it. */
  readonly end: number
  readonly outstanding: number
  /** Offered, and not at the endpoint. */
  readonly waiting: number
  /** The lowest nonce that is known to be missing. */
  readonly missing: number | undefined
  readonly window: number
  readonly pool: number
  /** Nonces that may be at the endpoint without being sealed or acknowledged: the smallest of all bounds. */
  readonly most: number
  readonly batch: number
  /** The largest window without a loss: to be remembered in the endpoint's profile. */
  readonly windowProven: number
  /** How many more nonces may be handed out for this endpoint to be kept busy without a longer queue than its window. */
  readonly room: number
  /** So many nonces above a missing one are kept by the endpoint. */
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
  // No count says any more what arrived, and none would refute one that was too high.
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
  // A count that was read before says nothing of what leaves now.
  if (kind === 'new' && nonces[0] !== undefined) uncount(sequence, nonces[0])
  if (isLearning(state)) state.count.trials++
  const calls = nonces.length + Number(count)
  requests.set(id, { id, nonces, calls, sentAtMs: nowMs, hasCount: count, abandoned: false })
  const { refreshes: refresh, sealed } = state
  const sent: Sending = { request: id, atMs: nowMs, refresh, sealed, latest: sequence.latest }
  for (const nonce of nonces) {
    const segment = sequence.segments.get(nonce)
    if (segment === undefined) continue
    segment.sent = sent
    segment.behindGap = undefined
    segment.sentElsewhere = false
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

/** A view, since it is read for every transaction: what is not asked for is not worked out. */
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
      // What limits the account itself may last: nothing is handed out ahead of it.
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
