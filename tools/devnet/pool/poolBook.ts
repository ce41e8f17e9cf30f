import type { Address, Hex } from 'viem'
import type { DecodedTx } from '../rpc/decode.js'
import type { AccountState } from './poolRules.js'

/** A transaction that is offered to a pool. */
export type Offer = {
  readonly tx: DecodedTx
  readonly from: Address
  /** Accounts that signed its authorizations, without duplicates. */
  readonly authorities: readonly Address[]
}

export type PooledTx = Offer & {
  /** Arrival number; the lower one wins between equal tips. */
  readonly order: number
  /**
   * True for a transaction of another process with the same key: added regardless of the rules, ahead of all
   * tips.
   */
  readonly foreign: boolean
}

/**
 * A pool's records, with the rules of one kind of node. All functions are synchronous, so a result holds
 * until the next call.
 */
export type PoolBook = {
  get(hash: Hex): PooledTx | undefined
  holds(from: Address, nonce: number): boolean
  /** Accounts whose state the pool needs after each block. */
  senders(): readonly Address[]
  entries(): Iterable<PooledTx>
  /** Transactions of each account that can go into a block now, in nonce order. */
  runs(): readonly (readonly PooledTx[])[]
  /** An account's transactions in nonce order: the executable ones, and the others. */
  parts(from: Address): Readonly<Record<'pending' | 'queued', readonly PooledTx[]>>
  /**
   * The nonce after the account's executable transactions; undefined if the pool does not know the account.
   */
  runEnd(from: Address): number | undefined
  /** Adds a transaction regardless of the rules, and replaces a transaction with the same nonce. */
  put(offer: Offer & { readonly foreign: boolean }, state: AccountState): void
  /**
   * Adds a transaction if the rules allow it, else returns the node's error message. May silently drop other
   * transactions, or this one.
   */
  offer(offer: Offer, state: AccountState): string | undefined
  remove(hash: Hex): boolean
  /** The background work of a pool. Offered transactions may become executable here. */
  reorganise(): void
  /** Applies a new block: `states` holds the state of every sender. */
  refresh(states: ReadonlyMap<Address, AccountState>, baseFeePerGas: bigint): void
}
