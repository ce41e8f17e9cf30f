import type { FeeValues } from 'viem'
import { invalid } from '../../errors/invalid.js'
import { type BumpRule, type Fees, replacementFees } from '../../ledger/fees.js'
import { newestAttempt, type Slot } from '../../ledger/slot.js'

type Wanted = Partial<FeeValues>

const UNBOUNDED = { maxFeePerGas: 2n ** 255n }

/**
 * The fees of a bump for which the caller of `speedUp` named fees. An omitted fee is the minimum that a pool
 * accepts as a replacement for the newest attempt. Returns `undefined` if nothing was sent yet.
 *
 * @throws TxlaneError `INVALID` for fees that no pool accepts, that are of another kind than the
 *   transaction's, or that are above its own ceiling, or that of its group
 */
export function bumpFees(
  ceilingWei: bigint | undefined,
  { slot, wanted, rule }: { slot: Slot; wanted: Wanted; rule: BumpRule },
): Fees | undefined {
  const newest = newestAttempt(slot)
  const least = newest && replacementFees(newest.fees, { rule, ceiling: UNBOUNDED })
  if (least === undefined) return undefined

  function named(argument: keyof Wanted, lowest: bigint): bigint | undefined {
    const value = wanted[argument]
    if (value === undefined) return undefined
    if (value < lowest)
      throw invalid(
        `fees.${argument}`,
        value,
        `at least ${lowest} wei, the minimum that a pool accepts for a replacement`,
      )
    if (ceilingWei !== undefined && value > ceilingWei)
      throw invalid(
        `fees.${argument}`,
        value,
        `at most ${ceilingWei} wei, the transaction's own feeCeiling or that of its group`,
      )
    return value
  }

  if ('gasPrice' in least) {
    refuse(
      wanted,
      ['maxFeePerGas', 'maxPriorityFeePerGas'],
      'gasPrice alone: its transaction has no other fee',
    )
    return { gasPrice: named('gasPrice', least.gasPrice) ?? least.gasPrice }
  }
  refuse(wanted, ['gasPrice'], 'maxFeePerGas and maxPriorityFeePerGas: its transaction has no gas price')
  const tip = named('maxPriorityFeePerGas', least.maxPriorityFeePerGas) ?? least.maxPriorityFeePerGas
  const cap = named('maxFeePerGas', least.maxFeePerGas) ?? larger(least.maxFeePerGas, tip)
  return { maxFeePerGas: cap, maxPriorityFeePerGas: tip }
}

function refuse(wanted: Wanted, others: readonly (keyof Wanted)[], expected: string): void {
  for (const other of others)
    if (wanted[other] !== undefined) throw invalid(`fees.${other}`, wanted[other], expected)
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
