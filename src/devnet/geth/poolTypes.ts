/**
 * A model of geth's transaction pool: go-ethereum v1.17.10, `core/txpool/legacypool`. The files of this folder follow
 * the files of that package, function by function. `test/geth` compares the model with a running geth.
 *
 * Left out: blob transactions, the journal, the lifetime of queued transactions (3 hours), and Go's random order of map
 * entries, which decides between accounts where equal prices compete for the last slot.
 */
export type PoolTransaction = {
  readonly hash: string
  readonly from: string
  readonly nonce: number
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  /** The most that it takes from its sender: value, and gas at the maximum fee. */
  readonly costWei: bigint
  /** Of 32 KiB each, begun ones counted. */
  readonly slots: number
  /** Accounts that signed its EIP-7702 authorizations, each once. */
  readonly authorities: readonly string[]
}

export type GethLimits = {
  /** Executable transactions of an account that no truncation takes. */
  readonly accountSlots: number
  /** Executable transactions of all accounts. */
  readonly globalSlots: number
  /** Gapped transactions of an account. */
  readonly accountQueue: number
  /** Gapped transactions of all accounts. */
  readonly globalQueue: number
  /** Percent by which both fees of a replacement rise. */
  readonly priceBump: number
}

/** `legacypool.DefaultConfig`. */
export const GETH_LIMITS: GethLimits = {
  accountSlots: 16,
  globalSlots: 4_096 + 1_024,
  accountQueue: 64,
  globalQueue: 1_024,
  priceBump: 10,
}

export type GethAccount = {
  readonly nonce: number
  readonly balanceWei: bigint
  /** A delegation (EIP-7702), or a contract's code. */
  readonly hasCode: boolean
}

/** The chain's newest block, as far as the pool looks at it. */
export type GethHead = {
  readonly gasLimit: bigint
  /** Base fee of the next block; undefined before the first block that the pool has seen. */
  readonly nextBaseFeeWei: bigint | undefined
  readonly account: (address: string) => GethAccount
}

/** A refusal in geth's words. */
export type PoolError = {
  readonly message: string
  /** `locals.IsTemporaryReject`: `eth_sendRawTransaction` returns the hash, and the node tries again later. */
  readonly isTemporary: boolean
}

const final = (message: string): PoolError => ({ message, isTemporary: false })
const temporary = (message: string): PoolError => ({ message, isTemporary: true })

/** `core/txpool/errors.go` and `legacypool.go`. */
export const POOL_ERRORS = {
  known: final('already known'),
  replacementUnderpriced: final('replacement transaction underpriced'),
  underpriced: temporary('transaction underpriced'),
  full: temporary('txpool is full'),
  futureReplacesPending: temporary('future transaction tries to replace pending'),
  gappedDelegated: temporary('gapped-nonce tx from delegated accounts'),
  inFlightDelegated: temporary('in-flight transaction limit reached for delegated accounts'),
  authorityReserved: temporary('authority already reserved'),
} as const

export { final as finalError }
