import type { Chain } from 'viem'
import type { FeeCeiling } from '../../ledger/fees.js'
import type { FeeChange, FeePolicy } from '../../types/index.js'

/**
 * The fee settings of a lane: its options, as changed by `setFees` since. They outlive a leader of the lane.
 */
export type FeeSettings = {
  readonly current: FeePolicy<Chain>
  /** The ceiling of this group, if it has one. */
  groupCeiling(group: string | undefined): FeeCeiling | undefined
  /**
   * The maximum fee per gas that the transaction's own options allow, in wei: its ceiling, or its group's
   * ceiling if that is lower.
   */
  ownCeiling(transaction: Offering): bigint | undefined
  /** Replaces each field that the change contains as a whole. */
  change(change: FeeChange): void
  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: () => void): () => void
}

type Offering = { readonly feeCeiling: bigint | undefined; readonly group?: string | undefined }

export function createFeeSettings(policy: FeePolicy<Chain> | undefined): FeeSettings {
  let current: FeePolicy<Chain> = { ...policy }
  const listeners = new Set<() => void>()
  const groupCeiling = (group: string | undefined) =>
    group === undefined ? undefined : ceilingOf(current.groups?.[group])
  return {
    get current() {
      return current
    },
    groupCeiling,
    ownCeiling({ feeCeiling, group }) {
      const ofGroup = groupCeiling(group)?.maxFeePerGas
      if (feeCeiling === undefined || ofGroup === undefined) return feeCeiling ?? ofGroup
      return feeCeiling < ofGroup ? feeCeiling : ofGroup
    },
    change(change) {
      current = withChange(current, change)
      for (const listener of listeners) listener()
    },
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** An undefined field of the change counts as absent. */
export function withChange<policy extends object>(policy: policy, change: FeeChange): policy {
  const named = Object.entries(change).filter(([, value]) => value !== undefined)
  return { ...policy, ...Object.fromEntries(named) }
}

/** The configured ceiling, if any. */
export function ceilingOf(given: { ceiling?: FeePolicy['ceiling'] } | undefined): FeeCeiling | undefined {
  const limit = given?.ceiling?.maxFeePerGas ?? given?.ceiling?.gasPrice
  return limit === undefined ? undefined : { maxFeePerGas: limit }
}
