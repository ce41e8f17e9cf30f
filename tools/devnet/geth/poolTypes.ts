/**
 * A model of geth's transaction pool: go-ethereum v1.17.10, `core/txpool/legacypool`. The code of this folder
 * follows the functions of that package. `test/geth` compares the model with a running geth.
 *
 * Left out: blob transactions, the journal, the lifetime of queued transactions (3 hours), and Go's random order
 * of map entries, which decides between accounts whose equal prices compete for the last slot.
 */
export type PoolTransaction = {
  readonly hash: string
  readonly from: string
  readonly nonce: number
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  /** Maximum cost for the sender: value, plus gas at the maximum fee. */
  readonly costWei: bigint
  /** Size in slots of 32 KiB, rounded up. */
  readonly slots: number
  /** Accounts that signed its EIP-7702 authorizations, without duplicates. */
  readonly authorities: readonly string[]
}

export type GethLimits = {
  /** Executable transactions per account that truncation never removes. */
  readonly accountSlots: number
  /** Limit for the executable transactions of all accounts. */
  readonly globalSlots: number
  /** Limit for the gapped transactions of an account. */
  readonly accountQueue: number
  /** Limit for the gapped transactions of all accounts. */
  readonly globalQueue: number
  /** Minimum percentage by which both fees of a replacement must rise. */
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
  /** True for an account with a delegation (EIP-7702) or contract code. */
  readonly hasCode: boolean
}

/** The fields of the newest block that the pool uses. */
export type GethHead = {
  readonly gasLimit: bigint
  /** Base fee of the next block; undefined before the pool's first block. */
  readonly nextBaseFeeWei: bigint | undefined
  readonly account: (address: string) => GethAccount
}

/** A refusal with geth's error message. */
export type PoolError = {
  readonly message: string
  /** `locals.IsTemporaryReject`: `eth_sendRawTransaction` returns the hash, and the node resubmits later. */
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
