import { isSpoiled } from '../program.js'
import type { SimTransaction } from '../transaction.js'
import { costWei, intrinsicGas } from './execute.js'
import type { SimAccount } from './state.js'

/** A node's refusal: the code and the exact words. */
export type Refusal = { readonly code: number; readonly message: string }

export type AdmissionLimits = {
  readonly chainId: number
  /** Gas limit of a transaction (EIP-7825), and of a block. */
  readonly transactionGasMax: number
  readonly gasLimitMax: number
  readonly tipWeiMin: bigint
  /** True if a refusal names that minimum. @default true */
  readonly tipStated?: boolean
  /** Longer transactions are "oversized" (geth's txMaxSize is 128 KiB). */
  readonly bytesMax: number
}

// Codes as the clients send them. geth answers every pool error with -32000 (errors without a code of their
// own, rpc/errors.go). reth does the same except for funds and pool limits, -32003
// (rpc-eth-types/src/error/mod.rs).
const GENERIC = -32000
const REJECTED = -32003

export function refusal(message: string, code: number = GENERIC): Refusal {
  return { code, message }
}

/** Refusals that depend only on the bytes. Order and messages follow geth core/txpool/validation.go. */
export function refuseBytes(tx: SimTransaction, limits: AdmissionLimits): Refusal | undefined {
  if (tx.raw.length / 2 > limits.bytesMax) {
    return refusal(`oversized data: transaction size ${tx.raw.length / 2}, limit ${limits.bytesMax}`)
  }
  if (tx.gas > limits.transactionGasMax) {
    return refusal(`transaction gas limit too high (cap: ${limits.transactionGasMax}, tx: ${tx.gas})`)
  }
  if (tx.gas > limits.gasLimitMax) return refusal('exceeds block gas limit')
  if (tx.tipWei > tx.maxFeeWei) return refusal('max priority fee per gas higher than max fee per gas')
  if (tx.chainId !== limits.chainId) {
    return refusal(`invalid sender: invalid chain id for signer: have ${tx.chainId} want ${limits.chainId}`)
  }
  // geth crypto.ErrInvalidSig.
  if (isSpoiled(tx.data)) return refusal('invalid sender: invalid transaction v, r, s values')
  const needed = intrinsicGas(tx)
  if (tx.gas < needed) return refusal(`intrinsic gas too low: gas ${tx.gas}, minimum needed ${needed}`)
  if (tx.tipWei < limits.tipWeiMin) {
    if (limits.tipStated === false) return refusal('transaction underpriced')
    return refusal(
      `transaction gas price below minimum: gas tip cap ${tx.tipWei}, minimum needed ${limits.tipWeiMin}`,
    )
  }
  return undefined
}

/** Refusals by the account's state in reth, which parks transactions that the balance cannot pay together. */
export function refuseAccount(tx: SimTransaction, account: SimAccount): Refusal | undefined {
  if (tx.nonce < account.nonce) {
    return refusal(`nonce too low: next nonce ${account.nonce}, tx nonce ${tx.nonce}`)
  }
  const cost = costWei(tx)
  const balance = account.balanceWei
  if (cost <= balance) return undefined
  return refusal(`insufficient funds for gas * price + value: have ${balance} want ${cost}`, REJECTED)
}

/**
 * True if both fees are at least 10 % above those of the transaction to replace (the same in geth and reth).
 */
export function outbids(tx: SimTransaction, other: SimTransaction): boolean {
  const beats = (fee: bigint, old: bigint) => fee > old && fee * 100n >= old * 110n
  return beats(tx.maxFeeWei, other.maxFeeWei) && beats(tx.tipWei, other.tipWei)
}

/**
 * Besu TransactionReplacementByFeeMarketRule: the effective price rises by more than a tenth, and the tip
 * does not fall.
 */
export function outbidsByPrice(tx: SimTransaction, other: SimTransaction, baseFeeWei: bigint): boolean {
  const price = ({ maxFeeWei, tipWei }: SimTransaction) =>
    maxFeeWei < baseFeeWei + tipWei ? maxFeeWei : baseFeeWei + tipWei
  const [next, old] = [price(tx), price(other)]
  return next * 100n > old * 110n
}

/** zkSync Era core/node/api_server/src/tx_sender/result.rs, SubmitTxError::NonceIsTooHigh. */
export function refuseDistant(
  tx: SimTransaction,
  account: SimAccount,
  aheadMax: number,
): Refusal | undefined {
  const most = account.nonce + aheadMax
  if (tx.nonce <= most) return undefined
  return refusal(`nonce too high. allowed nonce range: ${account.nonce} - ${most}, actual: ${tx.nonce}`)
}

export const poolFull: Refusal = refusal('txpool is full', REJECTED)
