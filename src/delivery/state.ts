import {
  BATCH_START,
  type BatchSize,
  type CongestionWindow,
  createBatchSize,
  createCongestionWindow,
  createRoundTrip,
  type RoundTrip,
} from './endpointLimits.js'
import { createPoolBound, type PoolBound } from './poolBound.js'
import { createSequence, type Segment, type Sequence } from './sequence.js'

/** The endpoint's profile, and the limits of the account there. `undefined`: not known. */
export type EndpointTraits = {
  /** The `pending` count includes the mempool: a count of k acknowledges everything below k. */
  readonly countsMempool: boolean | undefined
  /**
   * How many transactions of one account it keeps above a missing nonce. geth: 64; a sequencer without a
   * pool: 0.
   */
  readonly gapBudget: number | undefined
  /** The calls of a batch take effect in their order. */
  readonly batchInOrder: boolean | undefined
  /** The maximum number of calls in one request that the endpoint is known to accept. */
  readonly batchMax: number | undefined
  /** The endpoint can answer a send with the receipt: it keeps the answer until it has that. */
  readonly sendSync: boolean | undefined
  /**
   * The maximum number of this account's transactions that no sealed block has used. Pools set it for
   * delegated accounts.
   */
  readonly accountMax: number | undefined
}

export type DeliveryOptions = {
  /** The account's `latest` count: every nonce below is used. */
  readonly floor: number
  /** The initial limit of unacknowledged nonces. @default 64 */
  readonly windowStart?: number | undefined
  /** The maximum limit of unacknowledged nonces. */
  readonly windowMax: number
  /** The initial limit of nonces above `latest` at the endpoint. @default 4_000 */
  readonly poolStart?: number | undefined
  /** The initial number of calls in one request, including the count. @default 129 */
  readonly batchStart?: number | undefined
  /** The maximum number of calls in one request. */
  readonly batchMax: number
  /**
   * The maximum number of characters of raw transactions in one request. A single transaction may be larger.
   */
  readonly requestCharactersMax: number
  /** The number of requests with transactions that may be open at once. */
  readonly requestsMax: number
}

export type OpenRequest = {
  readonly id: number
  readonly nonces: readonly number[]
  readonly sentAtMs: number
  readonly hasCount: boolean
  readonly calls: number
  /**
   * The answer to the request waits for the receipt. It says nothing about round trips and batches, and delays no
   * request.
   */
  readonly sync: boolean
  /** The nonces of the request have been sent again since. */
  abandoned: boolean
}

export type DeliveryState = {
  readonly options: DeliveryOptions
  readonly sequence: Sequence
  readonly window: CongestionWindow
  readonly pool: PoolBound
  readonly batch: BatchSize
  readonly trip: RoundTrip
  traits: EndpointTraits
  readonly requests: Map<number, OpenRequest>
  lastRequest: number
  /** A nonce was found missing: no new nonces are sent until the acknowledgement has passed this one. */
  hole: number | undefined
  /**
   * One reading of the count was at this nonce, which the endpoint had accepted before. A second such reading
   * proves it lost.
   */
  suspect: { readonly nonce: number; readonly atMs: number } | undefined
  /** The last nonce that two counts lacked, how long after its answer, and the number of losses before. */
  counted:
    | {
        readonly nonce: number
        readonly waitedMs: number
        readonly losses: { readonly window: number; readonly pool: number }
      }
    | undefined
  /** The time by which a count may lag behind the answers. */
  lagMs: number
  readonly count: {
    /** When the newest answered reading had been requested. */
    readAtMs: number
    /** How many sealed blocks had been seen at the newest reading. */
    readSealed: number
    /** When the newest count was requested. */
    askedAtMs: number
    isOpen: boolean
    failures: number
    /**
     * The newest count was lower than the bodies had shown: it is older than they are, and shows nothing
     * about the pool.
     */
    isBehind: boolean
    /** Counts carried by requests while it was unknown whether they include the mempool. */
    trials: number
  }
  /** When the newest request with transactions was answered. */
  answeredAtMs: number
  /** Consecutive requests without a result. */
  failures: number
  failedAtMs: number
  retryAtMs: number
  refreshes: number
  sealed: number
  refreshedAtMs: number
  /** The time between two refreshes, once two have been seen. */
  refreshMs: number | undefined
  /** How many refreshes had been seen when a body last confirmed one of our nonces. */
  progressRefresh: number
  /**
   * The endpoint accepted nothing of the newest request that it answered: one nonce at a time is offered
   * until it accepts one.
   */
  isProbing: boolean
  /**
   * The nonce that the pool probably dropped last, since blocks or counts lacked it, and how many it held
   * below that one.
   */
  dropped: { readonly nonce: number; readonly held: number } | undefined
  /** The pool bound held nonces back since the last sealed block. */
  isPoolBound: boolean
}

const GAP_BUDGET_UNKNOWN = 16

const UNKNOWN_TRAITS: EndpointTraits = {
  countsMempool: undefined,
  gapBudget: undefined,
  batchInOrder: undefined,
  batchMax: undefined,
  sendSync: undefined,
  accountMax: undefined,
}

const WINDOW_START = 64
/** geth answers with the hash before its pool has reorganised the transaction (`Add` with `sync` false). */
const PROMOTION_MS = 5

export function createState(options: DeliveryOptions): DeliveryState {
  return {
    options,
    sequence: createSequence(options.floor),
    window: createCongestionWindow({ start: options.windowStart ?? WINDOW_START, max: options.windowMax }),
    pool: createPoolBound(options.poolStart),
    batch: createBatchSize({ start: options.batchStart ?? BATCH_START, max: options.batchMax }),
    trip: createRoundTrip(),
    traits: UNKNOWN_TRAITS,
    requests: new Map(),
    lastRequest: 0,
    hole: undefined,
    suspect: undefined,
    counted: undefined,
    lagMs: PROMOTION_MS,
    count: {
      readAtMs: Number.NEGATIVE_INFINITY,
      readSealed: 0,
      askedAtMs: Number.NEGATIVE_INFINITY,
      isOpen: false,
      failures: 0,
      isBehind: false,
      trials: 0,
    },
    answeredAtMs: Number.NEGATIVE_INFINITY,
    failures: 0,
    failedAtMs: Number.NEGATIVE_INFINITY,
    retryAtMs: Number.NEGATIVE_INFINITY,
    refreshes: 0,
    sealed: 0,
    refreshedAtMs: Number.NEGATIVE_INFINITY,
    refreshMs: undefined,
    progressRefresh: 0,
    isProbing: false,
    dropped: undefined,
    isPoolBound: false,
  }
}

/**
 * Whether the count shows which nonces are missing at the endpoint. If it does not, refreshes without the
 * nonce do.
 */
export const isCounting = ({ traits, count }: DeliveryState): boolean =>
  traits.countsMempool === true && !count.isBehind

export const gapBudgetOf = ({ traits }: DeliveryState): number => traits.gapBudget ?? GAP_BUDGET_UNKNOWN

/** Nonces from this one on have no room in the endpoint's pool. */
export function poolEndOf({ sequence, pool, traits }: DeliveryState): number {
  return sequence.latest + Math.max(1, Math.min(pool.size, traits.accountMax ?? Number.POSITIVE_INFINITY))
}

/** The lowest nonce that was sent and is not acknowledged, if the endpoint may have it. */
export function headOf({ sequence }: DeliveryState): Segment | undefined {
  const head = sequence.segments.get(sequence.acknowledgedTo)
  const isThere = head?.state === 'taken' || head?.state === 'inFlight' || head?.state === 'unanswered'
  return isThere ? head : undefined
}

/**
 * Requests that may still have a result: their nonces have been neither sent again nor acknowledged since.
 */
export function openRequests(state: DeliveryState): OpenRequest[] {
  return [...state.requests.values()].filter((request) => isOpen(state, request))
}

/** The number of open requests whose answers are awaited before further requests leave. */
export function countOpen(state: DeliveryState): number {
  let open = 0
  for (const request of state.requests.values()) if (!request.sync && isOpen(state, request)) open++
  return open
}

function isOpen({ sequence }: DeliveryState, { abandoned, nonces }: OpenRequest): boolean {
  return !abandoned && (nonces.at(-1) ?? 0) >= sequence.acknowledgedTo
}

/** True if a count is the only evidence for some of the nonces at the endpoint. */
export function isByCount({ sequence }: DeliveryState): boolean {
  return sequence.countedTo > sequence.confirmedTo && sequence.end > sequence.confirmedTo
}

/** Blocks since a count: one of them may have been built before the acknowledged nonces arrived. */
const UNPROVEN_BLOCKS = 2
/** A block that follows soon may leave out transactions that reached its builder a moment before. */
const UNPROVEN_MS = 2_000

/**
 * The time from which the newest count is in doubt, because blocks since lack some of the nonces that it
 * acknowledged: it may have been too high, or the pool dropped them. Infinite while it is not in doubt.
 */
export function unprovenFromMs(state: DeliveryState): number {
  const blocks = state.sealed - state.count.readSealed
  const isInDoubt = isByCount(state) && blocks >= UNPROVEN_BLOCKS
  return isInDoubt ? state.count.readAtMs + UNPROVEN_MS : Number.POSITIVE_INFINITY
}
