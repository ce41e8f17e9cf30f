import type { Address, Hex } from 'viem'
import type { GethLimits } from '../../tools/devnet/geth/poolTypes.js'

/** The flags with which the node is started. */
export type NodeFlags = {
  readonly limits: GethLimits
  /** `--txpool.pricelimit`. */
  readonly tipWeiMin: number
  /** `--txpool.nolocals`: temporary refusals are reported, and no transaction is re-added later. */
  readonly noLocals: boolean
}

export type Step =
  /** One request; several transactions make it a batch. */
  | { readonly kind: 'send'; readonly raws: readonly Hex[] }
  /** Mines a block from the pool, or of these transactions only. */
  | { readonly kind: 'block'; readonly transactions?: readonly Hex[] }
  /** `miner_setGasPrice`. */
  | { readonly kind: 'tipMin'; readonly wei: number }
  /** `debug_setHead`, this many blocks back. */
  | { readonly kind: 'rewind'; readonly blocks: number }
  /** The node re-adds transactions of its own users that are missing from its pool, 10 s after its start. */
  | { readonly kind: 'resubmit' }

export type Sequence = {
  readonly name: string
  readonly accounts: readonly Address[]
  readonly steps: readonly Step[]
}

/** The answer to a call of `eth_sendRawTransaction`: the hash, or the refusal. */
export type SendAnswer = Hex | { readonly code: number; readonly message: string }

/** Short hashes by nonce, of each account in the sequence's order. */
export type Contents = readonly Readonly<Record<string, string>>[]

/** Long enough to distinguish the transactions of one sequence. */
export const shortHash = (hash: Hex): string => hash.slice(2, 10)

/** The observable state of a node between two steps. */
export type PoolView = {
  /** `eth_getTransactionCount` of each account. */
  readonly latest: readonly number[]
  readonly pendingCounts: readonly number[]
  readonly pending: Contents
  readonly queued: Contents
}

/**
 * The properties of the newest block that a pool uses. `devnet/geth` receives them, because the chain is not
 * part of the model.
 */
export type ChainHead = {
  readonly gasLimit: string
  readonly nextBaseFeeWei: string
  readonly accounts: readonly {
    readonly nonce: number
    readonly balanceWei: string
    readonly hasCode: boolean
  }[]
}

/** The behaviour of a node in one step. `head` is set if the step made a new one. */
export type Outcome = {
  readonly answers: readonly SendAnswer[]
  readonly head?: ChainHead
  readonly view: PoolView
}

export type Recording = {
  readonly client: string
  readonly chainId: number
  readonly flags: NodeFlags
  readonly sequence: Sequence
  readonly head: ChainHead
  readonly outcomes: readonly Outcome[]
}
