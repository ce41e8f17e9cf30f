import type { Address, Hex } from 'viem'
import type { RpcObject, RpcReply } from '../serve/rpcTypes.js'
import type { DecodedTx } from './decode.js'

/** A transaction on its way into the pool, with what the faults decided for it. */
export type PoolSend = {
  readonly tx: DecodedTx
  /** The same object for all calls of one request. */
  readonly request: object
  /** `forget`: the hash is answered and nothing is pooled. `evict`: pooled, and gone before the next flashblock. */
  readonly fate: 'keep' | 'forget' | 'evict'
  /** Somebody else with the same key takes the sender's lowest free nonce first. */
  readonly foreign: boolean
}

/** A transaction that waits in the pool. */
export type PoolItem = {
  /** Of the signed transaction. */
  readonly hash: Hex
  /** Who signed it, in lower case. */
  readonly from: Address
  /** The account's nonce. */
  readonly nonce: number
}

/** Where sent transactions wait. Calls other than `submit` are made from within the queue. */
export type Pool = {
  submit(send: PoolSend): Promise<RpcReply>
  /** Hands the child what its next block shall hold. */
  stage(baseFeePerGas: bigint, gasAvailable: bigint): Promise<void>
  /**
   * Reads what the child's new block made of the accounts. The function that it resolves with takes that over; it
   * is called together with the change of the view, so that no client sees the one without the other.
   */
  settle(): Promise<() => void>
  evict(hash: Hex): Promise<boolean>
  /** Puts a transaction in past all rules, above all others. */
  inject(raw: Hex, from: Address): Promise<void>
  /** Puts transactions of a removed block back. */
  readmit(raws: readonly Hex[]): Promise<void>
  /** As `eth_getTransactionByHash` shows a waiting transaction; undefined for what only the child may know. */
  waiting(hash: Hex): RpcObject | undefined
  /** As `txpool_contentFrom` shows an account's part; undefined for what only the child may know. */
  contentFrom(
    from: Hex,
  ): Readonly<Record<'pending' | 'queued', Readonly<Record<string, RpcObject>>>> | undefined
  /** The first nonce past the transactions that an account could execute now; undefined when it has none here. */
  runEnd(from: Hex): number | undefined
  list(): Promise<readonly PoolItem[]>
}

/** Signs a transaction that takes `nonce` of an account whose key the devnet has; undefined for other accounts. */
export type SignForeign = (from: Address, nonce: number) => Promise<Hex | undefined>
