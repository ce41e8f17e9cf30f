import type { Address, Hex } from 'viem'
import type { GethLimits } from '../../tools/devnet/geth/poolTypes.js'

/** How the node is started. */
export type NodeFlags = {
  readonly limits: GethLimits
  /** `--txpool.pricelimit`. */
  readonly tipWeiMin: number
  /** `--txpool.nolocals`: temporary refusals are said, and nothing is added again later. */
  readonly noLocals: boolean
}

export type Step =
  /** One request; more than one transaction makes it a batch. */
  | { readonly kind: 'send'; readonly raws: readonly Hex[] }
  /** A block of what the pool has, or of these transactions alone. */
  | { readonly kind: 'block'; readonly transactions?: readonly Hex[] }
  /** `miner_setGasPrice`. */
  | { readonly kind: 'tipMin'; readonly wei: number }
  /** `debug_setHead`: so many blocks back. */
  | { readonly kind: 'rewind'; readonly blocks: number }
  /** The node adds again what its own users sent and its pool lacks: 10 s after its start. */
  | { readonly kind: 'resubmit' }

export type Sequence = {
  readonly name: string
  readonly accounts: readonly Address[]
  readonly steps: readonly Step[]
}

/** What a call of `eth_sendRawTransaction` was answered: the hash, or the refusal. */
export type SendAnswer = Hex | { readonly code: number; readonly message: string }

/** Short hashes by nonce, of each account in the sequence's order. */
export type Contents = readonly Readonly<Record<string, string>>[]

/** Enough to tell the transactions of one sequence apart. */
export const shortHash = (hash: Hex): string => hash.slice(2, 10)

/** What can be seen of a node between two steps. */
export type PoolView = {
  /** `eth_getTransactionCount` of each account. */
  readonly latest: readonly number[]
  readonly pendingCounts: readonly number[]
  readonly pending: Contents
  readonly queued: Contents
}

/** The newest block, as far as a pool looks at it: `devnet/geth` gets it, the chain itself is no part of the model. */
export type ChainHead = {
  readonly gasLimit: string
  readonly nextBaseFeeWei: string
  readonly accounts: readonly {
    readonly nonce: number
    readonly balanceWei: string
    readonly hasCode: boolean
  }[]
}

/** What a node did with one step. `head` where the step made a new one. */
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
