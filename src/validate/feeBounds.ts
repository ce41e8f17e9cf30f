import type { Chain } from 'viem'
import type { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import type { FeePolicy, SendOptions, TxRequest } from '../types/index.js'
import { UINT256_MAX } from './validate.js'
import { refusePreset } from './validateFees.js'

// The gas of every EVM transaction before it runs (yellow paper, G_transaction).
const LEAST_GAS = 21_000n
const FEE_FIELDS = ['gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const

/**
 * Checks the cost of a transaction as far as it is certain without a node: its fees must not be above its own ceiling, and its
 * cost must be below 2^256 wei, which is more than any account can have. A ceiling below the current base fee only makes the
 * transaction wait, because base fees fall. `policy` is the fee policy of the sender.
 *
 * @throws `INVALID`, which names the field
 */
export function checkCost(
  request: TxRequest,
  options: Pick<SendOptions, 'feeCeiling' | 'feePreset'>,
  policy?: FeePolicy<Chain>,
): void {
  const { feeCeiling, feePreset } = options
  const excess = feesAbove(request, feeCeiling, "the transaction's own feeCeiling")
  if (excess) throw excess
  if (policy?.estimate !== undefined) refusePreset('options.feePreset', feePreset)
  const { value = 0n, gas = LEAST_GAS } = request
  const { gasPrice, maxFeePerGas } = feesIn(request)
  const mostValue = UINT256_MAX - gas * (gasPrice ?? maxFeePerGas ?? 0n)
  if (value > mostValue)
    throw invalid(
      'request.value',
      value,
      'less: with its gas at the fees that it names it costs 2^256 wei or more, which no account can have',
    )
}

/** The error for fees in the request that are above a ceiling in wei; undefined if they are not. */
export function feesAbove(
  request: TxRequest,
  ceilingWei: bigint | undefined,
  whose: string,
): TxlaneError | undefined {
  if (ceilingWei === undefined) return undefined
  const fees = feesIn(request)
  const name = FEE_FIELDS.find((field) => (fees[field] ?? 0n) > ceilingWei)
  return name && invalid(`request.${name}`, fees[name], `at most ${ceilingWei} wei, ${whose}`)
}

type NamedFees = { readonly [field in (typeof FEE_FIELDS)[number]]?: bigint | undefined }

const feesIn = (request: TxRequest): NamedFees => request as NamedFees
