import { isLearning, ridesAlong } from './count.js'
import { isPauseOver } from './retransmit.js'
import { eachLost, frontierOf, type Segment } from './sequence.js'
import { countOpen, type DeliveryState, gapBudgetOf, poolEndOf } from './state.js'

/** Nonces that may leave now, in one request, in ascending order. */
export type Selection = {
  /** `sync`: one new nonce, whose answer is to be the receipt. */
  readonly kind: 'repair' | 'new' | 'sync'
  readonly nonces: readonly number[]
  /** The request also carries a count. */
  readonly count: boolean
}

/** The share of the request budget that one request needs. */
export type Demand = { readonly kind: Selection['kind'] | 'count'; readonly calls: number }

/** The limits that determine the nonces of a request. */
type Bounds = {
  readonly nowMs: number
  /** Nonces from this one on are not sent: its bytes, or those of a lower nonce, are not in the store yet. */
  readonly below: number
  /**
   * Whether a caller waits for the receipt of this nonce, and the lane has no other transaction to send.
   * @default never
   */
  readonly awaitsReceipt?: ((nonce: number) => boolean) | undefined
}

export type Allowance = Bounds & {
  /**
   * Returns how many calls the request budget grants now for such a request. `next` calls it at most once.
   */
  readonly grant: (demand: Demand) => number
}

/**
 * While it is unknown whether the count includes the mempool, only this many are sent at once, because sent
 * nonces wait for a block.
 */
const LEARNING_MAX = 16

/** The next request before the request budget limits it. Nonces that are missing at the endpoint go first. */
export function select(state: DeliveryState, bounds: Bounds): Selection | undefined {
  const selection = selectAll(state, bounds)
  if (selection === undefined) return undefined
  const { kind, nonces } = selection
  return { kind, nonces, count: hasCount(state, selection, Number.POSITIVE_INFINITY) }
}

/** The part of the selection that is granted; undefined if nothing is. */
export function limitTo(state: DeliveryState, selection: Selection, callsMax: number): Selection | undefined {
  const { kind, nonces } = selection
  if (callsMax < 1) return undefined
  const rides = hasCount(state, selection, callsMax)
  return { kind, nonces: nonces.slice(0, Math.max(1, callsMax - Number(rides))), count: rides }
}

/** From this many calls on, a count takes only a small part of the grant. */
const COUNT_CALLS_MIN = 10

/**
 * Whether the request carries a count. A request that cannot hold all waiting nonces carries one if that
 * takes a small part of it, or if the window is full and waits for a count. A sync send is one call: a count
 * behind it would wait for the receipt as well.
 */
function hasCount(
  state: DeliveryState,
  { kind, nonces: { length: waiting } }: Omit<Selection, 'count'>,
  callsMax: number,
): boolean {
  if (kind === 'sync' || !ridesAlong(state) || callsMax <= 1 || waiting >= callsMaxOf(state)) return false
  const isFull = state.sequence.outstanding + callsMax > state.window.size
  return callsMax > waiting || callsMax >= COUNT_CALLS_MIN || isFull
}

function selectAll(state: DeliveryState, bounds: Bounds): Omit<Selection, 'count'> | undefined {
  if (bounds.nowMs < state.retryAtMs) return undefined
  const requestsMax = state.batch.isTrial ? 1 : state.options.requestsMax
  const open = countOpen(state)
  if (open >= requestsMax) return undefined
  const request = createRequest(state, bounds)
  if (state.sequence.lost > 0) {
    addLost(state, request)
    if (request.nonces.length > 0) return { kind: 'repair', nonces: request.nonces }
  }
  addNew(state, request, open)
  const { nonces } = request
  if (nonces.length === 0) return undefined
  return { kind: isSync(state, request) ? 'sync' : 'new', nonces }
}

/**
 * A single transaction on an idle delivery, for whose receipt a caller waits, gets it with the answer to its
 * send. An endpoint that keeps nothing above a gap would let every later nonce wait for that answer.
 */
function isSync(state: DeliveryState, { nonces, awaitsReceipt }: Draft): boolean {
  const { sequence, traits } = state
  const [nonce] = nonces
  if (nonce === undefined || awaitsReceipt === undefined || traits.sendSync !== true) return false
  const isOnly = nonces.length === 1 && nonce + 1 === sequence.end && sequence.outstanding === 0
  return isOnly && gapBudgetOf(state) > 0 && awaitsReceipt(nonce)
}

/** The maximum number of calls in one request, as far as the endpoint's refusals have shown. */
const callsMaxOf = ({ batch, traits }: DeliveryState): number =>
  Math.min(batch.size, traits.batchMax ?? batch.size)

/** A request under construction, with its limits. */
type Draft = Bounds & {
  readonly nonces: number[]
  /** The maximum number of transactions, and of their characters. */
  readonly sizeMax: number
  readonly charactersMax: number
  characters: number
}

function createRequest(state: DeliveryState, { nowMs, below, awaitsReceipt }: Bounds): Draft {
  const { traits, options } = state
  const orderMax = traits.batchInOrder === false ? 1 + gapBudgetOf(state) : Number.POSITIVE_INFINITY
  const learningMax = isLearning(state) ? LEARNING_MAX : Number.POSITIVE_INFINITY
  const callsMax = Math.max(1, callsMaxOf(state) - Number(ridesAlong(state)))
  const probeMax = state.isProbing ? 1 : Number.POSITIVE_INFINITY
  const sizeMax = Math.min(callsMax, orderMax, learningMax, probeMax)
  const charactersMax = options.requestCharactersMax
  return { nowMs, below, awaitsReceipt, nonces: [], sizeMax, charactersMax, characters: 0 }
}

function fits(
  { nonces, sizeMax, below, characters, charactersMax }: Draft,
  { nonce, size }: Segment,
): boolean {
  if (nonces.length >= sizeMax || nonce >= below) return false
  return nonces.length === 0 || characters + size <= charactersMax
}

function add(request: Draft, { nonce, size }: Segment): void {
  request.characters += size
  request.nonces.push(nonce)
}

/**
 * Missing nonces already had their place in the window: all of them are sent, as far as the pool has room.
 */
function addLost(state: DeliveryState, request: Draft): void {
  const { sequence } = state
  const poolEnd = poolEndOf(state)
  const gapEnd = gapEndOf(state)
  eachLost(sequence, (segment) => {
    const { nonce } = segment
    if (!fits(request, segment)) return false
    // The new bytes replace the ones at the endpoint.
    if (nonce < sequence.acknowledgedTo) {
      add(request, segment)
      return true
    }
    if (nonce >= poolEnd) state.isPoolBound = true
    if (nonce >= poolEnd || nonce > gapEnd) return false
    if (!isPauseOver(state, segment, request.nowMs)) return false
    add(request, segment)
    return true
  })
}

/**
 * The highest nonce that may be sent above one that the endpoint may still lack. A nonce that overtakes an
 * open request arrives above a gap, and the endpoint keeps only as many of those as its gap budget.
 */
function gapEndOf(state: DeliveryState): number {
  const { sequence, requests } = state
  const frontier = frontierOf(sequence)
  if (frontier >= sequence.next) return Number.POSITIVE_INFINITY
  const segment = sequence.segments.get(frontier)
  // This process never sent it, but the endpoint may have it from another one.
  if (segment === undefined) return frontier + gapBudgetOf(state)
  if (segment.state === 'inFlight') {
    const last = requests.get(segment.sent.request)?.nonces.at(-1) ?? frontier
    return last + gapBudgetOf(state)
  }
  // Until it is known whether it arrived, no nonce is sent above it. A lost nonce heads the request itself.
  return segment.state === 'lost' ? Number.POSITIVE_INFINITY : frontier
}

function addNew(state: DeliveryState, request: Draft, open: number): void {
  const { sequence } = state
  if (state.hole !== undefined || sequence.missing > 0 || isDoubtful(state)) return
  const isAlone = open === 0
  if (isLearning(state) && !isAlone) return
  let room = roomOf(state)
  const share = shareOf(state, Math.min(room, Math.min(request.below, sequence.end) - sequence.next), open)
  const poolEnd = poolEndOf(state)
  let gapEnd = gapEndOf(state)
  // A nonce that a count acknowledges is no gap, even if another process sent it.
  let next = Math.max(sequence.next, sequence.acknowledgedTo)
  for (const segment of sequence.segments.between(sequence.next, request.below)) {
    const { nonce } = segment
    if (nonce > next) gapEnd = Math.min(gapEnd, next + gapBudgetOf(state))
    next = Math.max(next, nonce + 1)
    if (nonce >= poolEnd) state.isPoolBound = true
    if (nonce >= poolEnd || request.nonces.length >= share || !fits(request, segment)) return
    // A partial request never overtakes an open one: its nonces go with the rest, in a larger request, once
    // the open one is answered.
    if (nonce > gapEnd || room <= 0) {
      if (!isAlone) request.nonces.splice(0)
      return
    }
    add(request, segment)
    room--
  }
}

/** A request with fewer transactions costs more than the endpoint gains. */
const SHARE_MIN = 100

/**
 * If an endpoint keeps all nonces of a window above a gap, it processes several requests side by side: the
 * free requests share the new nonces. Otherwise one request takes as many as it can hold.
 */
function shareOf(state: DeliveryState, waiting: number, open: number): number {
  const { window, options } = state
  if (gapBudgetOf(state) < window.size) return Number.POSITIVE_INFINITY
  return Math.max(SHARE_MIN, Math.ceil(waiting / (options.requestsMax - open)))
}

/** The number of nonces that the window allows to leave now. */
const roomOf = (state: DeliveryState): number =>
  state.window.size - state.sequence.outstanding + uncountedOf(state)

/**
 * The number of accepted nonces that the count does not include yet. They do not fill the window: the count
 * lags a moment behind, and if one of them were missing, the endpoint would keep the others.
 */
function uncountedOf(state: DeliveryState): number {
  if (state.traits.countsMempool !== true) return 0
  return Math.min(gapBudgetOf(state), frontierOf(state.sequence) - state.sequence.acknowledgedTo)
}

/**
 * True if the last count may mean that a nonce is missing: it was further below the accepted nonces than the
 * endpoint would keep, or at a point where the pool may be full. The next count decides.
 */
function isDoubtful(state: DeliveryState): boolean {
  const { sequence, suspect, pool } = state
  if (suspect === undefined) return false
  const behind = frontierOf(sequence) - sequence.acknowledgedTo
  return behind > gapBudgetOf(state) || suspect.nonce - sequence.latest >= pool.proven
}
