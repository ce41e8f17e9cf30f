import type { FeeNeeds } from '../ledger/fees.js'

/**
 * The reason of an endpoint's answer to a send. The values are stable across versions; new ones may be added.
 */
export type SendReason =
  | 'alreadyKnown'
  | 'nonceTooLow'
  | 'nonceTooHigh'
  | 'replacementUnderpriced'
  | 'feeTooLow'
  | 'insufficientFunds'
  /**
   * The gas limit is below the cost of the transaction before it runs, or above the limit of a block or
   * transaction. Counted.
   */
  | 'gasLimit'
  /**
   * The pool, or this account's share of it, is full, or another pool of the node has reserved the address.
   */
  | 'poolFull'
  | 'delegatedLimit'
  | 'feeCapExceeded'
  | 'rateLimited'
  /** The node cannot accept transactions now: it is syncing or shutting down, or the sequencer is away. */
  | 'notReady'
  /** `eth_sendRawTransactionSync` accepted the bytes, but timed out waiting for the receipt. */
  | 'syncTimeout'
  | 'invalid'
  /** The transaction is signed for another chain than the node's. The bytes are valid on their own chain. */
  | 'wrongChain'
  | 'screened'
  /** The endpoint does not know the method. */
  | 'methodMissing'
  | 'unknown'

/**
 * The meaning of one answer to one send.
 *
 * - `accepted`: the endpoint has the bytes. It does not prove that they are in a pool.
 * - `intrinsic`: no node can ever include these bytes.
 * - `refused`: this node refused them now. The bytes may still land through another node or an earlier send.
 * - `unknown`: the bytes may be anywhere.
 */
export type SendOutcome = {
  /** The consequence for the nonce. */
  readonly outcome: 'accepted' | 'intrinsic' | 'refused' | 'unknown'
  /** The reason of the answer. */
  readonly reason: SendReason
  /** True for a refusal that waiting does not cure. It counts towards giving up the transaction. */
  readonly counted: boolean
  /** The account's next nonce as the node reports it. A hint, never evidence. */
  readonly expectedNonce?: number
  /** The highest nonce of the account that the node accepts now, if it states one. A hint, never evidence. */
  readonly nonceMax?: number
  /**
   * The lowest fees that the node accepts, in wei, if a refusal for the fees states them. A hint of this node
   * only.
   */
  readonly needs?: FeeNeeds
  /** The pause that the endpoint asks for, in milliseconds. */
  readonly retryAfterMs?: number
}
