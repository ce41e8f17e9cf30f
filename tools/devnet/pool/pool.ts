import type { Address, Hex } from 'viem'
import type { DecodedTx } from '../rpc/decode.js'
import type { RpcObject, RpcReply } from '../rpc/rpcTypes.js'

/** A transaction that is offered to the pool, with the faults that were drawn for it. */
export type PoolSend = {
  readonly tx: DecodedTx
  /** The same object for all calls of one request. */
  readonly request: object
  /**
   * `forget`: the hash is answered and nothing is pooled. `evict`: pooled, and evicted before the next
   * flashblock.
   */
  readonly fate: 'keep' | 'forget' | 'evict'
  /** True if another transaction of the same key first takes the sender's lowest free nonce. */
  readonly foreign: boolean
  /** Refuses a gapped transaction, and one that is not ready, with the codes of EIP-7966. */
  readonly refusesUnready: boolean
}

/** A transaction that waits in the pool. */
export type PoolItem = {
  /** Hash of the signed transaction. */
  readonly hash: Hex
  /** Address of the signer, in lower case. */
  readonly from: Address
  /** Nonce of the transaction. */
  readonly nonce: number
}

/** The pool of sent transactions. Calls other than `submit` are made from within the queue. */
export type Pool = {
  submit(send: PoolSend): Promise<RpcReply>
  /** Sends the transactions of the next block to anvil. */
  stage(baseFeePerGas: bigint, gasAvailable: bigint): Promise<void>
  /**
   * Reads the account states after anvil's new block. The returned function applies them. It is called in the
   * same turn as the change of the view, so that no client sees one change without the other.
   */
  settle(): Promise<() => void>
  evict(hash: Hex): Promise<boolean>
  /** Adds a transaction regardless of the rules, ahead of all others. */
  inject(raw: Hex, from: Address): Promise<void>
  /** Returns transactions of a removed block to the pool. */
  readmit(raws: readonly Hex[]): Promise<void>
  /**
   * A waiting transaction in the format of `eth_getTransactionByHash`; undefined if only anvil may know it.
   */
  waiting(hash: Hex): RpcObject | undefined
  /**
   * An account's transactions in the format of `txpool_contentFrom`; undefined if only anvil may know them.
   */
  contentFrom(
    from: Hex,
  ): Readonly<Record<'pending' | 'queued', Readonly<Record<string, RpcObject>>>> | undefined
  /**
   * The first nonce after the account's executable transactions; undefined if the pool has no state for the
   * account.
   */
  runEnd(from: Hex): number | undefined
  list(): Promise<readonly PoolItem[]>
}

/** Signs a transaction at `nonce` of an account; undefined if the devnet does not have the account's key. */
export type SignForeign = (from: Address, nonce: number) => Promise<Hex | undefined>
