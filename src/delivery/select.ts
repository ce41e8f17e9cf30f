import { isLearning, ridesAlong } from './count.js'
import { isPauseOver } from './retransmit.js'
import { eachLost, frontierOf, type Segment } from './sequence.js'
import { countOpen, type DeliveryState, gapBudgetOf, poolEndOf } from './state.js'

/** Nonces that may leave now, in one request, in ascending order. */
export type Selection = {
  readonly kind: 'repair' | 'new'
  readonly nonces: readonly number[]
  /** A count rides along. */
  readonly count: boolean
}

/** What one request needs of the request budget. */
export type Demand = { readonly kind: Selection['kind'] | 'count'; readonly calls: number }

/** What the nonces of a request are chosen by. */
type Bounds = {
  readonly nowMs: number
  /** Nothing is sent from this nonce on: its bytes, or those of a lower one, are not in the store yet. */
  readonly below: number
}

export type Allowance = Bounds & {
  /** How many calls the request budget grants now for such a request. `next` asks once at most. */
  readonly grant: (demand: Demand) => number
}

/** While it is not known whether the count includes the mempool, few are sent at once: what is sent waits for a block. */
const LEARNING_MAX = 16

/** What leaves next, as far as nothing but the request budget limits it: what is missing at the endpoint goes first. */
export function select(state: DeliveryState, bounds: Bounds): Selection | undefined {
  const selection = selectAll(state, bounds)
  if (selection === undefined) return undefined
  const { kind, nonces } = selection
  return { kind, nonces, count: hasCount(state, nonces.length, Number.POSITIVE_INFINITY) }
}

/** As much of it as is granted; undefined where nothing is. */
export function limitTo(state: DeliveryState, selection: Selection, callsMax: number): Selection | undefined {
  const { kind, nonces } = selection
  if (callsMax < 1) return undefined
  const rides = hasCount(state, nonces.length, callsMax)
  return { kind, nonces: nonces.slice(0, Math.max(1, callsMax - Number(rides))), count: rides }
}

/** With so many calls a count takes little of what is granted. */
const COUNT_CALLS_MIN = 10

/**
 * Whether the count rides along. In a request that holds less than what waits it goes where it takes a small part of it,
 * or where the window is full and waits for it.
 */
function hasCount(state: DeliveryState, waiting: number, callsMax: number): boolean {
  if (!ridesAlong(state) || callsMax <= 1 || waiting >= callsMaxOf(state)) return false
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
  return request.nonces.length > 0 ? { kind: 'new', nonces: request.nonces } : undefined
}

/** Calls that one request may hold, as far as the endpoint's refusals have shown. */
const callsMaxOf = ({ batch, traits }: DeliveryState): number =>
  Math.min(batch.size, traits.batchMax ?? batch.size)

/** One request in the making, and how much goes into it. */
type Draft = Bounds & {
  readonly nonces: number[]
  /** Transactions, and characters of them, at most. */
  readonly sizeMax: number
  readonly charactersMax: number
  characters: number
}

function createRequest(state: DeliveryState, { nowMs, below }: Bounds): Draft {
  const { traits, options } = state
  const orderMax = traits.batchInOrder === false ? 1 + gapBudgetOf(state) : Number.POSITIVE_INFINITY
  const learningMax = isLearning(state) ? LEARNING_MAX : Number.POSITIVE_INFINITY
  const callsMax = Math.max(1, callsMaxOf(state) - Number(ridesAlong(state)))
  const probeMax = state.isProbing ? 1 : Number.POSITIVE_INFINITY
  const sizeMax = Math.min(callsMax, orderMax, learningMax, probeMax)
  return { nowMs, below, nonces: [], sizeMax, charactersMax: options.requestCharactersMax, characters: 0 }
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

/** What is missing had its place in the window before: all of it goes, as far as the pool has room. */
function addLost(state: DeliveryState, request: Draft): void {
  const { sequence } = state
  const poolEnd = poolEndOf(state)
  const gapEnd = gapEndOf(state)
  eachLost(sequence, (segment) => {
    const { nonce } = segment
    if (!fits(request, segment)) return false
    // It takes the place of what is there already.
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
 * How far above what the endpoint may still lack something may be sent: what overtakes an open request is gapped there,
 * and an endpoint keeps no more of that than its gap budget.
 */
function gapEndOf(state: DeliveryState): number {
  const { sequence, requests } = state
  const frontier = frontierOf(sequence)
  if (frontier >= sequence.next) return Number.POSITIVE_INFINITY
  const segment = sequence.segments.get(frontier)
  // Never sent from here: the endpoint may have it from elsewhere.
  if (segment === undefined) return frontier + gapBudgetOf(state)
  if (segment.state === 'inFlight') {
    const last = requests.get(segment.sent.request)?.nonces.at(-1) ?? frontier
    return last + gapBudgetOf(state)
  }
  // Until it is known whether it arrived nothing is sent above it. One that is lost heads the request itself.
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
  // What a count acknowledges is no gap, although another process sent it.
  let next = Math.max(sequence.next, sequence.acknowledgedTo)
  for (const segment of sequence.segments.between(sequence.next, request.below)) {
    const { nonce } = segment
    if (nonce > next) gapEnd = Math.min(gapEnd, next + gapBudgetOf(state))
    next = Math.max(next, nonce + 1)
    if (nonce >= poolEnd) state.isPoolBound = true
    if (nonce >= poolEnd || request.nonces.length >= share || !fits(request, segment)) return
    // A part of what waits overtakes nothing: it goes with the rest, in a larger request, once the open one is answered.
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
 * An endpoint that keeps whatever the window lets out above a gap works on several requests side by side: the free ones
 * share the new nonces that wait. Elsewhere one request takes as many as it can hold.
 */
function shareOf(state: DeliveryState, waiting: number, open: number): number {
  const { window, options } = state
  if (gapBudgetOf(state) < window.size) return Number.POSITIVE_INFINITY
  return Math.max(SHARE_MIN, Math.ceil(waiting / (options.requestsMax - open)))
}

/** Nonces that the window lets out now. */
const roomOf = (state: DeliveryState): number =>
  state.window.size - state.sequence.outstanding + uncountedOf(state)

/**
 * Nonces that were taken and that the count does not include yet do not fill the window: the count is a moment behind,
 * and were one of them missing, the endpoint would keep the others.
 */
function uncountedOf(state: DeliveryState): number {
  if (state.traits.countsMempool !== true) return 0
  return Math.min(gapBudgetOf(state), frontierOf(state.sequence) - state.sequence.acknowledgedTo)
}

/**
 * The last count may mean that a nonce is missing: it stood further below what is taken than the endpoint would keep, or
 * where the pool may be full. The next count says more.
 */
function isDoubtful(state: DeliveryState): boolean {
  const { sequence, suspect, pool } = state
  if (suspect === undefined) return false
  const behind = frontierOf(sequence) - sequence.acknowledgedTo
  return behind > gapBudgetOf(state) || suspect.nonce - sequence.latest >= pool.proven
}
