import type { Chain } from 'viem'
import { checkNames } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import type { FeeChange, FeePolicy } from '../types/index.js'
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
export function refusePreset(argument: string, preset: unknown): void {
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
