import type { Address, Hex } from 'viem'
import type { DecodedTx } from './decode.js'
import type { AccountState } from './poolRules.js'

/** A transaction on its way into a pool. */
export type Offer = {
  readonly tx: DecodedTx
  readonly from: Address
  /** Accounts that signed its authorizations, each once. */
  readonly authorities: readonly Address[]
}

export type PooledTx = Offer & {
  /** Ties between equal tips go to the earlier one. */
  readonly order: number
  /** Put in past the rules and above all tips: a transaction of another process with the same key. */
  readonly foreign: boolean
}

/** A pool's records, under the rules of one kind of node. Nothing here waits: an answer holds until the next call. */
export type PoolBook = {
  get(hash: Hex): PooledTx | undefined
  holds(from: Address, nonce: number): boolean
  /** Accounts whose state the pool wants to know at each block. */
  senders(): readonly Address[]
  entries(): Iterable<PooledTx>
  /** Of each account the transactions that can go into a block now, in order. */
  runs(): readonly (readonly PooledTx[])[]
  /** An account's transactions in order: those that are executable, and the rest. */
  parts(from: Address): Readonly<Record<'pending' | 'queued', readonly PooledTx[]>>
  /** The nonce after the account's executable transactions; undefined where the pool knows nothing of it. */
  runEnd(from: Address): number | undefined
  /** Adds past all rules, over whatever holds the nonce. */
  put(offer: Offer & { readonly foreign: boolean }, state: AccountState): void
  /** Adds if the rules allow it; else says why, in the node's words. May drop others, or it, silently. */
  offer(offer: Offer, state: AccountState): string | undefined
  remove(hash: Hex): boolean
  /** The background work of a pool: what was offered may be executable from then on. */
  reorganise(): void
  /** A new block: `states` holds every sender. */
  refresh(states: ReadonlyMap<Address, AccountState>, baseFeePerGas: bigint): void
}
