import { size } from 'viem'
import type { DecodedTx } from '../rpc/decode.js'

/** Limits of Base's pool for the transactions of one account. */
export type PoolRules = {
  /** Maximum gapped transactions of an account; the excess highest nonces are dropped silently. */
  readonly gappedMax: number
  /** Maximum executable transactions of an account with delegated code (EIP-7702). */
  readonly delegatedMax: number
}

// reth's pool, with the limit for delegated accounts raised to 4; the limit for gapped transactions is
// geth's.
export const BASE_RULES: PoolRules = { gappedMax: 64, delegatedMax: 4 }

/** Limits that a pool checks for each transaction by itself. */
export type ChainLimits = {
  readonly chainId: number
  /** Gas limit of a block. */
  readonly gasLimit: bigint
  readonly tipWeiMin: bigint
}

export type AccountState = {
  readonly nonce: number
  readonly balance: bigint
  readonly delegated: boolean
}

// EIP-7825, geth's txMaxSize, EIP-3860.
const TX_GAS_MAX = 16_777_216n
const TX_SIZE_MAX = 128 * 1024
const INITCODE_SIZE_MAX = 49_152

/** Maximum that a transaction can take from its sender's balance. */
export function costOf(tx: DecodedTx): bigint {
  return tx.value + tx.gas * tx.maxFeePerGas
}

/** Size of a transaction in slots of 32 KiB, the unit of pool limits. */
export function slotsOf(bytes: number): number {
  return Math.ceil(bytes / (32 * 1024))
}

// geth's `--rpc.txfeecap`, in wei.
const FEE_MAX_WEI = 10n ** 18n
const IN_ETHER = 1e18

/** Errors of geth's `SubmitTransaction` (internal/ethapi/api.go), which come before the pool's own checks. */
export function refusedByRpc(tx: DecodedTx): string | undefined {
  const feeWei = tx.gas * tx.maxFeePerGas
  if (feeWei > FEE_MAX_WEI) {
    const fee = (Number(feeWei) / IN_ETHER).toFixed(2)
    return `tx fee (${fee} ether) exceeds the configured cap (1.00 ether)`
  }
  return refusedAsUnprotected(tx)
}

export function refusedAsUnprotected({ chainId }: DecodedTx): string | undefined {
  return chainId === undefined ? 'only replay-protected (EIP-155) transactions allowed over RPC' : undefined
}

/**
 * Errors of geth's `ValidateTransaction` (core/txpool/validation.go) that need no state, in geth's order;
 * undefined if the transaction passes.
 */
export function refusedByItself(tx: DecodedTx, limits: ChainLimits): string | undefined {
  const bytes = size(tx.raw)
  if (bytes > TX_SIZE_MAX) return `oversized data: transaction size ${bytes}, limit ${TX_SIZE_MAX}`
  const initcode = tx.to === undefined ? size(tx.data) : 0
  if (initcode > INITCODE_SIZE_MAX) {
    return `max initcode size exceeded: code size ${initcode} limit ${INITCODE_SIZE_MAX}`
  }
  if (tx.gas > TX_GAS_MAX) return `transaction gas limit too high (cap: ${TX_GAS_MAX}, tx: ${tx.gas})`
  if (tx.gas > limits.gasLimit) return 'exceeds block gas limit'
  if (tx.chainId !== limits.chainId) {
    return `invalid sender: invalid chain id for signer: have ${tx.chainId} want ${limits.chainId}`
  }
  return refusedForGas(tx) ?? refusedForTip(tx, limits) ?? refusedForTuples(tx)
}

function refusedForTip(tx: DecodedTx, { tipWeiMin }: ChainLimits): string | undefined {
  if (tx.maxPriorityFeePerGas >= tipWeiMin) return undefined
  return `transaction gas price below minimum: gas tip cap ${tx.maxPriorityFeePerGas}, minimum needed ${tipWeiMin}`
}

function refusedForTuples(tx: DecodedTx): string | undefined {
  if (tx.type !== 'eip7702' || tx.authorizations.length > 0) return undefined
  return 'set code tx must have at least one authorization tuple'
}

function refusedForGas(tx: DecodedTx): string | undefined {
  const { intrinsic, floor } = gasNeeded(tx)
  if (tx.gas < intrinsic) return `intrinsic gas too low: gas ${tx.gas}, minimum needed ${intrinsic}`
  if (tx.gas < floor)
    return `insufficient gas for floor data gas cost: gas ${tx.gas}, minimum needed ${floor}`
  return undefined
}

/** Intrinsic gas (yellow paper, EIP-2028, 2930, 3860, 7702), and the calldata floor of EIP-7623. */
function gasNeeded(tx: DecodedTx): { intrinsic: bigint; floor: bigint } {
  const bytes = size(tx.data)
  const zeros = zeroBytes(tx.data)
  const tokens = BigInt(zeros + (bytes - zeros) * 4)
  const creation = tx.to === undefined ? 32_000 + 2 * Math.ceil(bytes / 32) : 0
  const accesses = tx.accessList.reduce((sum, { storageKeys }) => sum + 2_400 + 1_900 * storageKeys.length, 0)
  const extras = BigInt(creation + accesses + 25_000 * tx.authorizations.length)
  return { intrinsic: 21_000n + tokens * 4n + extras, floor: 21_000n + tokens * 10n }
}

function zeroBytes(data: string): number {
  let count = 0
  for (let at = 2; at < data.length; at += 2) if (data[at] === '0' && data[at + 1] === '0') count += 1
  return count
}
