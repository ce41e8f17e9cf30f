import type { Chain } from 'viem'
import type { TxlaneError } from '../errors/base.js'
import { checkNames } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import type { FeeChange, FeePolicy, SendOptions, TxRequest } from '../types/index.js'
import { BUDGET_OPTIONS, BUMP_OPTIONS, FEE_CHANGE, FEE_POLICY, FEES } from './names.js'
import { amount, callable, checkFees, object, oneOf, PRESETS, UINT256_MAX, whole } from './validate.js'

/** @throws `INVALID`, which names the option */
export function checkFeePolicy(policy: unknown): void {
  if (policy === undefined) return
  const fields = object('fees', policy)
  checkNames('fees', fields, FEE_POLICY)
  checkChangeable(fields)
  const { preset, estimate, bump } = fields
  callable('fees.estimate', estimate)
  if (estimate !== undefined) refusePreset('fees.preset', preset)
  if (bump === undefined) return
  const own = object('fees.bump', bump)
  checkNames('fees.bump', own, BUMP_OPTIONS)
  const { percent, attemptsMax } = own
  whole('fees.bump.percent', percent, 1, 1_000)
  whole('fees.bump.attemptsMax', attemptsMax, 1, 1_000)
}

/**
 * Checks the argument of `setFees`. `policy` is the fee policy of the sender, if it has one.
 *
 * @throws `INVALID`, which names the option
 */
export function checkFeeChange(change: FeeChange, policy: FeePolicy<Chain> | undefined): void {
  const fields = object('fees', change)
  checkNames('fees', fields, FEE_CHANGE)
  checkChangeable(fields)
  if (policy?.estimate !== undefined) refusePreset('fees.preset', fields.preset)
}

/** With `fees.estimate` of the caller, a preset would have no effect. */
function refusePreset(argument: string, preset: unknown): void {
  if (preset !== undefined)
    throw invalid(argument, preset, 'no preset: `fees.estimate` is given, and says what gas costs')
}

function checkChangeable({ ceiling, preset, groups, budget }: Readonly<Record<string, unknown>>): void {
  checkCeiling('fees.ceiling', ceiling)
  oneOf('fees.preset', preset, PRESETS)
  for (const [group, own] of Object.entries(groups === undefined ? {} : object('fees.groups', groups))) {
    const argument = `fees.groups.${group}`
    checkNames(argument, object(argument, own), { ceiling: true })
    checkCeiling(`${argument}.ceiling`, (own as { ceiling?: unknown }).ceiling)
  }
  if (budget === undefined) return
  const own = object('fees.budget', budget)
  checkNames('fees.budget', own, BUDGET_OPTIONS)
  amount('fees.budget.perHourWei', own.perHourWei, UINT256_MAX)
  amount('fees.budget.perDayWei', own.perDayWei, UINT256_MAX)
}

function checkCeiling(argument: string, ceiling: unknown): void {
  if (ceiling === undefined) return
  checkNames(argument, object(argument, ceiling), FEES)
  checkFees(ceiling, argument)
}

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
