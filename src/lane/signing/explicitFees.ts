import type { Fees } from '../../ledger/fees.js'
import type { TxRequest } from '../../types/index.js'

/** The fees that the request sets, if any: the first attempt offers them. */
export function explicitFees(request: TxRequest): Fees | undefined {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = request as Record<string, bigint | undefined>
  if (gasPrice !== undefined) return { gasPrice }
  if (maxFeePerGas === undefined) return undefined
  const tip = maxPriorityFeePerGas ?? maxFeePerGas
  return sameAsBefore({ maxFeePerGas, maxPriorityFeePerGas: tip < maxFeePerGas ? tip : maxFeePerGas })
}

type CappedFees = Extract<Fees, { maxFeePerGas: bigint }>
let before: CappedFees | undefined

/** Returns the previous object for equal fees, since most transactions of a burst have the same fees. */
function sameAsBefore(fees: CappedFees): CappedFees {
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  if (before?.maxFeePerGas !== maxFeePerGas || before.maxPriorityFeePerGas !== maxPriorityFeePerGas)
    before = fees
  return before
}
