import type { Address, Hash, Hex } from 'viem'
import type { SimTransaction } from '../transaction.js'
import type { State } from './state.js'

/** A transaction that was executed, and how it went. */
export type Executed = {
  readonly tx: SimTransaction
  readonly status: 'success' | 'reverted'
  readonly gasUsed: number
  readonly priceWei: bigint
  readonly contractAddress: Address | null
}

/** A change of an account that no transaction of its own made: a deposit, an authorization, a drain. */
export type Adjustment = {
  readonly address: Address
  /** Added to the balance, which does not go below zero. */
  readonly balanceWei?: bigint
  /** Added to the nonce: by EIP-7702 tuples of the account that somebody else carried. */
  readonly nonces?: number
  /** By CREATE in delegated code instead: no body shows it. */
  readonly isTraceless?: boolean
  /** Takes the place of its code: a delegation (EIP-7702), or its end. */
  readonly code?: Hex
}

/** An adjustment where it was made: the nonce that the account stood at, and how many transactions came before. */
export type Adjusted = Adjustment & { readonly from: number; readonly after: number }

/** A block, sealed or in progress. Never changed: the block in progress is a new one with each flashblock. */
export type SimBlock = {
  readonly number: number
  readonly hash: Hash
  readonly parent: SimBlock | undefined
  readonly sealed: boolean
  readonly timestampS: number
  readonly baseFeeWei: bigint
  readonly executed: readonly Executed[]
  readonly adjustments: readonly Adjusted[]
  readonly gasUsed: number
  /** After its transactions. */
  readonly state: State
  /** Blocks never change and are asked for again and again: each is put into words once. */
  readonly words: BlockWords
}

/** An answer of JSON-RPC. */
export type Wire = Readonly<Record<string, unknown>>

/** Kept at the block: a table beside it, weakly held, costs the collector more than all the blocks. */
export type BlockWords = {
  header?: Wire
  whole?: Wire
  receipts?: readonly Wire[]
  /** What a node built on it from its own pool. */
  local?: { readonly version: number; readonly block: SimBlock }
}

/** What one replica shows at one time. */
export type View = {
  readonly atMs: number
  readonly head: SimBlock
  /** `undefined` where the chain has no block in progress of its own. */
  readonly pending: SimBlock | undefined
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

/** Names for blocks: 32 bytes each, never the same twice, in the order in which they were made. */
export function createBlockNames(): (kind: 'sealed' | 'partial') => Hash {
  let count = 0
  return (kind) => {
    count++
    return `0x${kind === 'sealed' ? 'b10c' : 'f1a5'}${count.toString(16).padStart(60, '0')}`
  }
}
