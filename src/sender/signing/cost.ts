import type { LaneContext } from '../context.js'
import { tuplesOf } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'
import { explicitFees } from './explicitFees.js'

// A signed envelope without its calldata: RLP of the fields and the signature stays below it.
export const ENVELOPE_BYTES = 180
// One tuple of EIP-7702: chain id, address, nonce and signature.
const TUPLE_BYTES = 110

/** The most a first attempt of this transaction costs, in wei: value, gas at its fee cap, and the OP stack's data fee. */
export function attemptCostBound(context: LaneContext, transaction: Transaction): bigint {
  return (transaction.request.value ?? 0n) + attemptFeesBound(context, transaction)
}

/** The same without the value. */
export function attemptFeesBound(context: LaneContext, transaction: Transaction): bigint {
  const { request } = transaction
  const fees = explicitFees(request) ?? context.fees.last(transaction.feePreset)
  const cap = fees === undefined ? 0n : 'gasPrice' in fees ? fees.gasPrice : fees.maxFeePerGas
  const gas = transaction.gas ?? request.gas ?? 0n
  const bytes = ENVELOPE_BYTES + TUPLE_BYTES * tuplesOf(request).length + (request.data?.length ?? 2) / 2
  return gas * cap + context.fees.dataFee(Math.ceil(bytes))
}
