import type { Chain } from 'viem'
import type { FeeCeiling } from '../../ledger/fees.js'
import type { FeeChange, FeePolicy } from '../../types/index.js'

/** What a lane may offer, as its options and those who changed it since say. It outlives whoever works the lane. */
export type FeeSettings = {
  readonly current: FeePolicy<Chain>
  /** Of the group that a transaction names, where it has one. */
  groupCeiling(group: string | undefined): FeeCeiling | undefined
  /** The most that a transaction may offer by its own options, in wei: its ceiling, or that of its group if that is lower. */
  ownCeiling(transaction: Offering): bigint | undefined
  /** What is named takes the place of what was there, as a whole. */
  change(change: FeeChange): void
  /** Called after each change, until it is called off. */
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

/** A field that is undefined counts as left out. */
export function withChange<policy extends object>(policy: policy, change: FeeChange): policy {
  const named = Object.entries(change).filter(([, value]) => value !== undefined)
  return { ...policy, ...Object.fromEntries(named) }
}

/** Undefined where none is given. */
export function ceilingOf(given: { ceiling?: FeePolicy['ceiling'] } | undefined): FeeCeiling | undefined {
  const limit = given?.ceiling?.maxFeePerGas ?? given?.ceiling?.gasPrice
  return limit === undefined ? undefined : { maxFeePerGas: limit }
}
