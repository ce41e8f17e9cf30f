import type { Address, Chain, Hash } from 'viem'
import type { TxlaneError } from '../errors/base.js'
import type { HoldReason } from './lane.js'
import type { Tx } from './tx.js'
import type { WaitReason } from './wait.js'

type OfTx<chain extends Chain> = { tx: Tx<chain> }
type TxEvents<chain extends Chain> = {
  /** The lane has taken the transaction on; in a durable store it is kept by then. */
  queued: OfTx<chain>
  /** Its bytes are journaled. From here on they count as possibly sent. */
  signed: OfTx<chain>
  /** An endpoint accepted it for the first time. */
  accepted: OfTx<chain>
  /** The endpoint's `pending` block has it, where that shows pre-confirmations. */
  preconfirmed: OfTx<chain>
  /** A sealed block has it. After a reorg it may be told again. */
  sealed: OfTx<chain>
  /** It executed and reverted. Told when its receipt is read: where somebody waits for it. */
  reverted: OfTx<chain>
  /** `replace` put another transaction at its nonce: at most one of the two executes. */
  replaced: OfTx<chain>
  /** It was sent again: the same bytes, or bumped ones. */
  rebroadcast: OfTx<chain>
  /** No block has it for as long as `limits.stuckAfterMs` and `limits.stuckBlocks` say: it is sent again, or bumped. */
  stuck: OfTx<chain>
  /** It is stuck and is not bumped: at its ceiling, or bumped as often as `fees.bump.attemptsMax` says. */
  feeCeiling: OfTx<chain>
}
type Ended<chain extends Chain> = { tx: Tx<chain>; error: TxlaneError }
type EndEvents<chain extends Chain> = {
  /** It ended without execution, for the reason in `error`: refused, expired, aborted, or its nonce was given up. */
  failed: Ended<chain>
  /** `cancel` ended it: something else used its nonce, or nothing of it was ever sent. */
  cancelled: Ended<chain>
  /** What `replace` sent took its nonce. */
  superseded: Ended<chain>
}
type OfNonce = { nonce: number; hash?: Hash | undefined; tx?: Tx | undefined }
type NonceEvents = {
  /** A transaction that the lane did not sign used the nonce: another wallet has the key. */
  foreign: OfNonce
  /** An endpoint says that another transaction stands at the nonce of `tx`. The chain decides. */
  displaced: OfNonce
  /** The nonce is used, and nobody can learn by what. `resolve` takes the operator's word. */
  unresolved: OfNonce
  /** Nothing fills a nonce below others that are in flight, and this process cannot: it has no signer, say. */
  gap: OfNonce
  /** A no-op was accepted at the nonce. */
  gapFilled: OfNonce
  /** The block that used the nonce left the chain. What was there is followed, and sent again if need be. */
  reorged: OfNonce
  /** The same beyond `lossDepth`: callers were told for good that it landed. The lane has the hold `deepReorg`. */
  deepReorg: OfNonce
  /** What was reported of this nonce was wrong: a transaction of this lane stands there in a block of the chain. */
  corrected: OfNonce
}

/** Something changed at one endpoint. */
export type EndpointEvent = {
  /** Origin of its URL, or the name of its transport. */
  name: string
  /** As in the options. */
  role: 'both' | 'read' | 'send'
  /**
   * `profile`: more is known of what it does. `up`: it answers, and is used from now on. `down`: it does not answer,
   * or not in time, or lags: it is not read. `wrongChain`: it is on another chain, and left out for as long as it is.
   * `reader`: counts and blocks are read here from now on. `rests`: it says that it is asked too often, and gets no
   * transactions for a while (`limits.restMsMax`). `doubtful`: an answer contradicts the blocks that this endpoint or
   * another one shows; it is not believed, and another endpoint is read where there is one. `reset`: the chain is shorter
   * than it was, and no endpoint shows the blocks above. `failing`: what it answers is of no use, for a second and more:
   * an HTML page, a 503, a 429, nothing in time, nonsense; `said` quotes it. `answering`: its answers are of use again.
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
   * Of `rests`: for how long, what the endpoint asked for, and its words. Of `doubtful` and `reset`: what was answered,
   * and what contradicts it.
   */
  reason?: string
  /** With `failing`: what it said, cut, without URLs and secrets. */
  said?: string | undefined
  /** What is known of it now. */
  profile: object
}

/** Which lane tells it: one listener may serve the lanes of a pool, or of several chains. */
export type OfLane = {
  /** The chain's id. */
  chainId: number
  /** The account that signs and sends. */
  address: Address
}

/**
 * What `on` tells, with the lane that tells it. `failed`, `cancelled` and `superseded` carry the error that the
 * transaction ended with, the same that its promises reject with; `held` and `released` the reason.
 */
export type SenderEvents<chain extends Chain = Chain> = {
  [event in keyof LaneEvents<chain>]: LaneEvents<chain>[event] & OfLane
}

/** The same without the lane. */
export type LaneEvents<chain extends Chain = Chain> = TxEvents<chain> &
  EndEvents<chain> &
  NonceEvents & {
    /** A hold was lifted. Others may stand. */
    released: { reason: HoldReason }
    /** `detail` is a sentence: what was read, and what lifts the hold. Missing where the reason says it all. */
    held: { reason: HoldReason; detail?: string }
    /** Something changed at one endpoint. */
    endpoint: EndpointEvent
    /**
     * `tx` has waited for 2 seconds and more for what only a person can bring about, money say. Once for each kind of
     * reason, until no transaction waits for that any more. Holds are told by `held`, and unresolved ones by `unresolved`.
     */
    waiting: { tx: Tx<chain>; waitingFor: WaitReason }
    /**
     * `by` took a nonce before `tx`, which was called earlier and has the same priority: the preparation of `tx` has to
     * be repeated, for the reason given. At most once for each time that it stepped aside; never with `order: 'strict'`.
     */
    reordered: { tx: Tx<chain>; by: Tx<chain>; waitingFor: WaitReason }
    /** A transaction has lost its nonce to something else for the second time or more, and goes to another one. */
    rebound: { tx: Tx<chain>; times: number }
    /**
     * This process works the lane from now on. `epoch` rises with each change of hands. `takeover`: somebody else had it
     * before, another process or an earlier life of this one, whose work goes on here; false where nobody had.
     */
    leaseGained: { epoch: number; takeover: boolean }
    /** Another process has taken the lane: this one goes on as its guest. */
    leaseLost: { epoch: number }
    /**
     * Something failed that no promise tells of: a write that is tried again, a signer that failed in a repair. `times` is how
     * many failures this one stands for: the first is told at once, with 1, and those that are like it (the same code and
     * words, but for numbers and hashes) as the newest of them after 10 s, then after pauses that double up to 5 minutes
     * while more come, and at `close()`.
     */
    error: { error: Error; times: number }
  }
