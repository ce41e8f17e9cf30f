import type { GethLimits } from './gethPool.fixture.js'

/** A node behind a network, in virtual time. The seed determines everything that happens. */
export type NetworkOptions = {
  readonly seed: number
  /** `geth`: has geth's pool. `sequencer`: accepts the next nonce and refuses any other. */
  readonly node: 'geth' | 'sequencer'
  readonly limits?: GethLimits
  readonly blockMs: number
  /** Between two pre-confirmations. Undefined: there are none, and the follower only sees sealed blocks. */
  readonly refreshMs?: number | undefined
  /** How many transactions of this account one refresh, or one block, includes. */
  readonly capacity: number
  /** One way, without the jitter that is added to each message. */
  readonly latencyMs: number
  readonly jitterMs: number
  /** The time that the node needs for a call. It processes the requests of one client in parallel. */
  readonly callMs: number
  /** The time after which the client gives up a request. */
  readonly timeoutMs: number
  /** The time between a pool's answer and its reorganisation. */
  readonly promotionMs: number
  /**
   * The pool is reset before each block is built, as in `geth --dev` (`TxPool.Sync` in `eth/catalyst`):
   * transactions that are not executable by then are cut to the number that the pool keeps above a missing
   * nonce. @default false
   */
  readonly resetsFirst?: boolean | undefined
  readonly batchMax: number
  /** How the node refuses a larger batch. */
  readonly batchRefusal: 'said' | 'silent'
  /** The number of calls allowed per second; further calls are refused one by one. */
  readonly callsPerSecond?: number | undefined
  readonly faults: Faults
}

/** Probabilities per message, or per transaction for `swallowed`. */
export type Faults = {
  readonly requestLost: number
  readonly answerLost: number
  /** An immediate HTTP 503. */
  readonly unavailable: number
  readonly duplicated: number
  /** A message that takes twenty times as long. */
  readonly late: number
  /** The hash is returned, but the transaction is not pooled. */
  readonly swallowed: number
}

export const NO_FAULTS: Faults = {
  requestLost: 0,
  answerLost: 0,
  unavailable: 0,
  duplicated: 0,
  late: 0,
  swallowed: 0,
}
