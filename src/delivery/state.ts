import { BATCH_START, type BatchSize, createBatchSize } from './batchSize.js'
import { type CongestionWindow, createCongestionWindow } from './congestionWindow.js'
import { createPoolBound, type PoolBound } from './poolBound.js'
import { createRoundTrip, type RoundTrip } from './roundTrip.js'
import { createSequence, type Segment, type Sequence } from './sequence.js'

/** What the endpoint's profile says, and what limits the account there. `undefined`: not known. */
export type EndpointTraits = {
  /** The `pending` count includes the mempool: a count of k acknowledges everything below k. */
  readonly countsMempool: boolean | undefined
  /** How many transactions of one account it keeps above a missing nonce. geth: 64; a sequencer without a pool: 0. */
  readonly gapBudget: number | undefined
  /** The calls of a batch take effect in their order. */
  readonly batchInOrder: boolean | undefined
  /** The most calls in one request that it is known to take. */
  readonly batchMax: number | undefined
  /** The most transactions of this account that no sealed block has used. Pools set it for delegated accounts. */
  readonly accountMax: number | undefined
}

export type DeliveryOptions = {
  /** The account's `latest` count: everything below is used. */
  readonly floor: number
  /** Nonces that may be unacknowledged at first. @default 64 */
  readonly windowStart?: number | undefined
  /** Nonces that may be unacknowledged at most. */
  readonly windowMax: number
  /** Nonces above `latest` that may be at the endpoint at first. @default 4_000 */
  readonly poolStart?: number | undefined
  /** Calls in one request at first, the count among them. @default 129 */
  readonly batchStart?: number | undefined
  /** Calls in one request at most. */
  readonly batchMax: number
  /** Characters of raw transactions in one request at most. A single transaction may be larger. */
  readonly requestCharactersMax: number
  /** Requests with transactions that may be open at once. */
  readonly requestsMax: number
}

export type OpenRequest = {
  readonly id: number
  readonly nonces: readonly number[]
  readonly sentAtMs: number
  readonly hasCount: boolean
  readonly calls: number
  /** Its nonces were sent again meanwhile. */
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
  /** A nonce was found missing: nothing new is sent until the acknowledgement has passed this one. */
  hole: number | undefined
  /** One reading of the count stood at this nonce, which the endpoint had taken before. A second one proves it lost. */
  suspect: { readonly nonce: number; readonly atMs: number } | undefined
  /** The nonce that two counts lacked last, how long after its answer, and the losses that were known before. */
  counted:
    | {
        readonly nonce: number
        readonly waitedMs: number
        readonly losses: { readonly window: number; readonly pool: number }
      }
    | undefined
  /** A count may be so far behind the answers. */
  lagMs: number
  readonly count: {
    /** When the newest reading that was answered had been asked for. */
    readAtMs: number
    /** How many sealed blocks had been seen when the newest reading came. */
    readSealed: number
    /** When the newest one was asked for. */
    askedAtMs: number
    isOpen: boolean
    failures: number
    /** The newest one was lower than the bodies had shown: it is older than they are, and says nothing of the pool. */
    isBehind: boolean
    /** Counts that rode along while it was not known whether they include the mempool. */
    trials: number
  }
  /** The newest answer to a request with transactions. */
  answeredAtMs: number
  /** Requests in a row that brought nothing. */
  failures: number
  failedAtMs: number
  retryAtMs: number
  refreshes: number
  sealed: number
  refreshedAtMs: number
  /** Between two refreshes, as far as two have been seen. */
  refreshMs: number | undefined
  /** How many refreshes had been seen when a body last brought a nonce of ours. */
  progressRefresh: number
  /** The endpoint took nothing of the newest request that it answered: one nonce at a time is offered until it takes one. */
  isProbing: boolean
  /** The nonce that the pool probably dropped last, since blocks or counts lacked it, and how many it held below that one. */
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
  accountMax: undefined,
}

const WINDOW_START = 64
/** geth answers with the hash before its pool has put the transaction in order (`Add` with `sync` false). */
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

/** Whether the count tells what is missing at the endpoint. Where it does not, refreshes without a nonce do. */
export const isCounting = ({ traits, count }: DeliveryState): boolean =>
  traits.countsMempool === true && !count.isBehind

export const gapBudgetOf = ({ traits }: DeliveryState): number => traits.gapBudget ?? GAP_BUDGET_UNKNOWN

/** Nonces from it on have no room in the endpoint's pool. */
export function poolEndOf({ sequence, pool, traits }: DeliveryState): number {
  return sequence.latest + Math.max(1, Math.min(pool.size, traits.accountMax ?? Number.POSITIVE_INFINITY))
}

/** The lowest nonce that is sent and not acknowledged, where the endpoint may have it. */
export function headOf({ sequence }: DeliveryState): Segment | undefined {
  const head = sequence.segments.get(sequence.acknowledgedTo)
  const isThere = head?.state === 'taken' || head?.state === 'inFlight' || head?.state === 'unanswered'
  return isThere ? head : undefined
}

/** Requests that may still bring something: their nonces were neither sent again nor acknowledged meanwhile. */
export function openRequests(state: DeliveryState): OpenRequest[] {
  return [...state.requests.values()].filter((request) => isOpen(state, request))
}

export function countOpen(state: DeliveryState): number {
  let open = 0
  for (const request of state.requests.values()) if (isOpen(state, request)) open++
  return open
}

function isOpen({ sequence }: DeliveryState, { abandoned, nonces }: OpenRequest): boolean {
  return !abandoned && (nonces.at(-1) ?? 0) >= sequence.acknowledgedTo
}

/** Nothing but a count says that the endpoint has some of what was sent. */
export function isByCount({ sequence }: DeliveryState): boolean {
  return sequence.countedTo > sequence.confirmedTo && sequence.end > sequence.confirmedTo
}

/** Blocks since a count: one of them may have been built before what it acknowledged arrived. */
const UNPROVEN_BLOCKS = 2

/**
 * Some of what the newest count acknowledged is in none of the blocks since: the count may have been too high, or the pool
 * dropped it.
 */
export function isUnproven(state: DeliveryState): boolean {
  return isByCount(state) && state.sealed - state.count.readSealed >= UNPROVEN_BLOCKS
}
