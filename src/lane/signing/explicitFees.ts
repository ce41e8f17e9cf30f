import type { Fees } from '../../ledger/fees.js'
import type { TxRequest } from '../../types/index.js'

/** Fees in the request are the first attempt. */
export function explicitFees(request: TxRequest): Fees | undefined {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = request as Record<string, bigint | undefined>
  if (gasPrice !== undefined) return { gasPrice }
  if (maxFeePerGas === undefined) return undefined
  const tip = maxPriorityFeePerGas ?? maxFeePerGas
  return sameAsBefore({ maxFeePerGas, maxPriorityFeePerGas: tip < maxFeePerGas ? tip : maxFeePerGas })
}

type CappedFees = Extract<Fees, { maxFeePerGas: bigint }>
let before: CappedFees | undefined

/** What goes out together is mostly given the same: one object for all of it. */
function sameAsBefore(fees: CappedFees): CappedFees {
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  if (before?.maxFeePerGas !== maxFeePerGas || before.maxPriorityFeePerGas !== maxPriorityFeePerGas)
    before = fees
  return before
}
