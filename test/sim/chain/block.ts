import type { Address, Hash, Hex } from 'viem'
import type { SimTransaction } from '../transaction.js'
import type { State } from './state.js'
import type { Tags } from './tags.js'

/** An executed transaction, and its status. */
export type Executed = {
  readonly tx: SimTransaction
  readonly status: 'success' | 'reverted'
  readonly gasUsed: number
  readonly priceWei: bigint
  readonly contractAddress: Address | null
}

/** A change of an account without a transaction of its own: a deposit, an authorization, a drain. */
export type Adjustment = {
  readonly address: Address
  /** Added to the balance, which does not go below zero. */
  readonly balanceWei?: bigint
  /** Added to the nonce: by EIP-7702 tuples of the account that another account carried. */
  readonly nonces?: number
  /** The nonces were used by CREATE in delegated code instead, which no body shows. */
  readonly isTraceless?: boolean
  /** Replaces its code: a delegation (EIP-7702), or its end. */
  readonly code?: Hex
}

/**
 * An adjustment with its position: the account's nonce before it, and the number of transactions before it.
 */
export type Adjusted = Adjustment & { readonly from: number; readonly after: number }

/** A block, sealed or in progress. It is immutable: each flashblock makes a new block in progress. */
export type SimBlock = {
  readonly number: number
  readonly hash: Hash
  readonly parent: SimBlock | undefined
  readonly sealed: boolean
  /** Headers have it in whole seconds. */
  readonly timestampMs: number
  readonly baseFeeWei: bigint
  readonly executed: readonly Executed[]
  readonly adjustments: readonly Adjusted[]
  readonly gasUsed: number
  /** The state after its transactions. */
  readonly state: State
  /** Blocks never change and are requested repeatedly, so the JSON of each is made once. */
  readonly words: BlockWords
}

/** An answer of JSON-RPC. */
export type Wire = Readonly<Record<string, unknown>>

/** Stored in the block, because a weakly keyed table costs the garbage collector more than all the blocks. */
export type BlockWords = {
  header?: Wire
  whole?: Wire
  receipts?: readonly Wire[]
  /** The block that a node built on it from its own pool. */
  local?: { readonly version: number; readonly block: SimBlock }
}

/** The state that one replica shows at one time. */
export type View = {
  readonly atMs: number
  readonly head: SimBlock
  /** `undefined` if the chain has no block in progress of its own. */
  readonly pending: SimBlock | undefined
  /** The answers of the replica for tags. @default by the depths of the chain's settings */
  readonly tags?: Tags | undefined
}

const NO_HASH = `0x${'0'.repeat(64)}` as const

export function parentHashOf(block: SimBlock): Hash {
  return block.parent?.hash ?? NO_HASH
}

/** The block of a number on the branch that ends in `head`. */
export function ancestor(head: SimBlock, number: number): SimBlock | undefined {
  let block: SimBlock | undefined = head
  while (block !== undefined && block.number > number) block = block.parent
  return block?.number === number ? block : undefined
}

/** Block hashes of 32 bytes, never the same twice, in the order of creation. */
export function createBlockNames(): (kind: 'sealed' | 'partial') => Hash {
  let count = 0
  return (kind) => {
    count++
    return `0x${kind === 'sealed' ? 'b10c' : 'f1a5'}${count.toString(16).padStart(60, '0')}`
  }
}
