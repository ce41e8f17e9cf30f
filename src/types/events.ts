import type { Address, Chain, Hash } from 'viem'
import type { TxlaneError } from '../errors/base.js'
import type { HoldReason } from './lane.js'
import type { Tx } from './tx.js'
import type { WaitReason } from './wait.js'

type OfTx<chain extends Chain> = { tx: Tx<chain> }
type TxEvents<chain extends Chain> = {
  /** The lane accepted the transaction into its queue. A durable store has written it by then. */
  queued: OfTx<chain>
  /** The signed bytes are journaled. From this moment the transaction counts as possibly sent. */
  signed: OfTx<chain>
  /** An endpoint accepted the transaction for the first time. */
  accepted: OfTx<chain>
  /**
   * The endpoint's `pending` block contains the transaction. Emitted only if the endpoint shows
   * pre-confirmations.
   */
  preconfirmed: OfTx<chain>
  /** A sealed block contains the transaction. The event may repeat after a reorg. */
  sealed: OfTx<chain>
  /**
   * The transaction executed and reverted. Emitted when its receipt is read, that is, only if a caller waits
   * for it.
   */
  reverted: OfTx<chain>
  /** `replace` put another transaction at the same nonce. At most one of the two executes. */
  replaced: OfTx<chain>
  /** The transaction was sent again, with the same bytes or with bumped fees. */
  rebroadcast: OfTx<chain>
  /**
   * Blocks pass without the transaction, because an endpoint has another transaction at its nonce in its pool
   * (`displaced`). The lane resends it without a bump; `speedUp` can outbid the other one.
   */
  stuck: OfTx<chain>
  /**
   * Blocks pass without the transaction, and it is not bumped any more: its fees are at the ceiling, or it was
   * bumped `fees.bump.attemptsMax` times.
   */
  feeCeiling: OfTx<chain>
}
type Ended<chain extends Chain> = { tx: Tx<chain>; error: TxlaneError }
type EndEvents<chain extends Chain> = {
  /**
   * The transaction ended without execution. `error` gives the reason: it was refused, expired or aborted, or
   * its nonce was given up.
   */
  failed: Ended<chain>
  /** `cancel` ended the transaction: another transaction used its nonce, or it was never sent. */
  cancelled: Ended<chain>
  /** The replacement that `replace` sent used the nonce. */
  superseded: Ended<chain>
}
type OfNonce = { nonce: number; hash?: Hash | undefined; tx?: Tx | undefined }
type NonceEvents = {
  /** A transaction that this lane did not sign used the nonce: another wallet has the same key. */
  foreign: OfNonce
  /**
   * An endpoint reports another transaction at the nonce of `tx`. The chain decides which of the two
   * executes.
   */
  displaced: OfNonce
  /** The nonce is used, and no source shows by which transaction. The operator decides with `resolve`. */
  unresolved: OfNonce
  /**
   * A nonce below in-flight nonces is empty, and this process cannot fill it, for example because it has no
   * signer.
   */
  gap: OfNonce
  /** An endpoint accepted a no-op at the nonce. */
  gapFilled: OfNonce
  /**
   * A reorg removed the block that used the nonce. The lane follows the transaction and resends it if needed.
   */
  reorged: OfNonce
  /**
   * As `reorged`, but deeper than `lossDepth`: callers were already notified that it landed for good. The
   * lane enters the hold `deepReorg`.
   */
  deepReorg: OfNonce
  /**
   * An earlier report about this nonce was wrong: a block of the chain contains a transaction of this lane at
   * it.
   */
  corrected: OfNonce
}

/** A change at one endpoint. */
export type EndpointEvent = {
  /** The origin of the endpoint's URL, or the name of its transport. */
  name: string
  /** The role from the options. */
  role: 'both' | 'read' | 'send'
  /**
   * The kind of change:
   *
   * - `profile`: the lane has learned more about the endpoint's behaviour.
   * - `up`: the endpoint answers and is used from now on.
   * - `down`: the endpoint does not answer, answers too late, or lags behind. It is not read.
   * - `wrongChain`: the endpoint is on another chain. It is not used until that changes.
   * - `reader`: nonce counts and blocks are read from this endpoint from now on.
   * - `rests`: the endpoint reported that it is asked too often. It gets no transactions for a while
   *   (`limits.restMsMax`).
   * - `doubtful`: an answer contradicts the blocks that this or another endpoint shows. The answer is not
   *   believed, and another endpoint is read if there is one.
   * - `reset`: the chain is shorter than before, and no endpoint shows the blocks above.
   * - `failing`: the answers have been unusable for at least a second: an HTML page, status 503 or 429, a
   *   timeout, or invalid JSON. `said` quotes the last one.
   * - `answering`: the answers are usable again.
   */
  change:
    | 'profile'
    | 'up'
    | 'down'
    | 'wrongChain'
    | 'reader'
    | 'rests'
    | 'doubtful'
    | 'reset'
    | 'failing'
    | 'answering'
  /**
   * For `rests`: the length of the pause, the pause that the endpoint asked for, and its message. For
   * `doubtful` and `reset`: the answer, and the fact that contradicts it.
   */
  reason?: string
  /** For `failing`: the endpoint's answer, truncated, without URLs and secrets. */
  said?: string | undefined
  /** The endpoint profile as it is known now. */
  profile: object
}

/** The lane that emitted the event. One listener may serve the lanes of a pool or of several chains. */
export type OfLane = {
  /** The chain id. */
  chainId: number
  /** The account that signs and sends. */
  address: Address
}

/**
 * The events of a sender, each with the lane that emitted it. `failed`, `cancelled` and `superseded` carry
 * the error that ended the transaction; its promises reject with the same error. `held` and `released` carry
 * the reason.
 */
export type SenderEvents<chain extends Chain = Chain> = {
  [event in keyof LaneEvents<chain>]: LaneEvents<chain>[event] & OfLane
}

/** The same events without the lane. */
export type LaneEvents<chain extends Chain = Chain> = TxEvents<chain> &
  EndEvents<chain> &
  NonceEvents & {
    /** A hold was lifted. Other holds may remain. */
    released: { reason: HoldReason }
    /**
     * `detail` is a sentence: the reading that caused the hold, and the event that lifts it. Missing if the
     * reason says everything.
     */
    held: { reason: HoldReason; detail?: string }
    /** Something changed at one endpoint. */
    endpoint: EndpointEvent
    /**
     * `tx` has waited at least 2 seconds for an action that only an operator can take, for example funding
     * the account. Emitted once for each kind of reason, until no transaction waits for that reason any more.
     * Holds are reported by `held`, and unresolved transactions by `unresolved`.
     */
    waiting: { tx: Tx<chain>; waitingFor: WaitReason }
    /**
     * `by` took a nonce before `tx`, although `tx` was sent earlier with the same priority. The preparation
     * of `tx` has to be repeated, for the reason in `waitingFor`. Emitted at most once each time that `tx`
     * steps aside, and never with `order: 'strict'`.
     */
    reordered: { tx: Tx<chain>; by: Tx<chain>; waitingFor: WaitReason }
    /**
     * A transaction lost its nonce to another transaction for at least the second time, and moves to another
     * nonce.
     */
    rebound: { tx: Tx<chain>; times: number }
    /**
     * This process owns the lane's lease from now on. `epoch` rises with each change of owner. `takeover` is
     * true if another process, or an earlier run of this one, owned the lane before; its work continues here.
     * It is false if the lane had no earlier owner.
     */
    leaseGained: { epoch: number; takeover: boolean }
    /** Another process has taken the lease. This process continues as a standby. */
    leaseLost: { epoch: number }
    /**
     * A failure that no promise reports: a write that is retried, or a signer that failed during a repair.
     * `times` is the number of failures that this event stands for. The first failure is emitted at once,
     * with 1. Similar failures (the same code and message apart from numbers and hashes) are emitted as the
     * newest of them after 10 s, then after pauses that double up to 5 minutes while more occur, and at
     * `close()`.
     */
    error: { error: Error; times: number }
  }
