import { effectiveTip, feeCap } from '../../ledger/fees.js'
import type { Attempt } from '../../ledger/slot.js'
import { tuplesOf } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'
import { explicitFees } from './explicitFees.js'
import type { FeeOracle } from './feeOracle.js'

type CostContext = {
  readonly fees: FeeOracle
}

// Upper bound for a signed envelope without its calldata: the RLP of the fields and the signature.
export const ENVELOPE_BYTES = 180
// One EIP-7702 tuple: chain id, address, nonce and signature.
const TUPLE_BYTES = 110

/**
 * Maximum cost of the transaction's first attempt, in wei: value, gas at its fee cap, and the OP stack's data
 * fee.
 */
export function attemptCostBound(context: CostContext, transaction: Transaction): bigint {
  return (transaction.request.value ?? 0n) + attemptFeesBound(context, transaction)
}

/** The same without the value, in wei. */
export function attemptFeesBound(context: CostContext, transaction: Transaction): bigint {
  const { request } = transaction
  const fees = explicitFees(request) ?? context.fees.last(transaction.record.feePreset)
  const cap = fees === undefined ? 0n : feeCap(fees)
  const gas = transaction.record.gas ?? request.gas ?? 0n
  const bytes = ENVELOPE_BYTES + TUPLE_BYTES * tuplesOf(request).length + (request.data?.length ?? 2) / 2
  return gas * cap + context.fees.dataFee(Math.ceil(bytes))
}

/** Maximum cost of this attempt, in wei: the amount that a node compares with the balance. */
export function attemptCost(
  context: { readonly transactions: ReadonlyMap<string, Transaction>; readonly fees: FeeOracle },
  attempt: Attempt,
): bigint {
  const transaction = attempt.claim === undefined ? undefined : context.transactions.get(attempt.claim)
  return (transaction?.request.value ?? 0n) + attemptFees(context, attempt)
}

/** The same without the value, in wei. With `baseFee`: the price in a block with this base fee. */
export function attemptFees(
  context: { readonly fees: FeeOracle },
  { fees, gas, raw }: Attempt,
  baseFee?: bigint,
): bigint {
  const cap = feeCap(fees)
  const price = baseFee === undefined ? cap : baseFee + effectiveTip(fees, baseFee)
  return gas * price + context.fees.dataFee(raw.length / 2)
}
