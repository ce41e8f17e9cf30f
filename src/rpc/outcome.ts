import type { FeeNeeds } from '../ledger/fees.js'

/** Why an endpoint answered a send as it did. Stable across versions; new ones may be added. */
export type SendReason =
  | 'alreadyKnown'
  | 'nonceTooLow'
  | 'nonceTooHigh'
  | 'replacementUnderpriced'
  | 'feeTooLow'
  | 'insufficientFunds'
  /** Below what the bytes cost before they run, or above the limit of a block or transaction: counted. */
  | 'gasLimit'
  /** The pool, or this account's share of it, is full; or the address is reserved by another pool of the node. */
  | 'poolFull'
  | 'delegatedLimit'
  | 'feeCapExceeded'
  | 'rateLimited'
  /** The node says that it cannot take transactions now: syncing, shutting down, sequencer away. */
  | 'notReady'
  /** `eth_sendRawTransactionSync` took the bytes and gave up waiting for the receipt. */
  | 'syncTimeout'
  | 'invalid'
  /** Signed for another chain than the node's: these bytes are good where they belong. */
  | 'wrongChain'
  | 'screened'
  /** The endpoint does not know the method. */
  | 'methodMissing'
  | 'unknown'

/**
 * What one answer to one send means.
 *
 * - `accepted`: the endpoint has the bytes. It does not prove that they are pooled.
 * - `intrinsic`: no node can ever include these bytes.
 * - `refused`: this node, now. The bytes may still land by way of another node or an earlier send.
 * - `unknown`: nothing is known; the bytes may be anywhere.
 */
export type SendOutcome = {
  /** What it means for the nonce. */
  readonly outcome: 'accepted' | 'intrinsic' | 'refused' | 'unknown'
  /** Why. */
  readonly reason: SendReason
  /** True for a refusal that waiting does not cure: it counts towards giving the transaction up. */
  readonly counted: boolean
  /** The account's next nonce as the node tells it. A hint, never evidence. */
  readonly expectedNonce?: number
  /** The highest nonce of the account that the node takes now, where it states one. A hint, never evidence. */
  readonly nonceMax?: number
  /** The least fees that the node takes, in wei, where a refusal for the fees states them. A hint of this node alone. */
  readonly needs?: FeeNeeds
  /** How long the endpoint asks to be left alone, in milliseconds. */
  readonly retryAfterMs?: number
}
