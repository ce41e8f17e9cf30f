import type { Address, Hex } from 'viem'
import type { ReportedItem, Verdict } from '../demo/check.js'
import type { StartPoint } from '../demo/walk.js'
import type { GasLimits } from '../demo/workload.js'

/** The data of one key's run that the check needs. The items follow from it, and need not be sent. */
export type LaneRun = {
  readonly account: Address
  readonly start: StartPoint
  readonly ledger: { readonly address: Address; readonly hash: Hex }
  readonly gas: GasLimits
  readonly seed: number
  /** Of a workload of `count` items the first `sent` were sent. */
  readonly count: number
  readonly sent: number
  /** Nonces that the sender reported as used by a no-op. */
  readonly noops: readonly number[]
}

/**
 * A message to the chain's process. Reports are sent at once, so that the sender's process keeps nothing
 * about ended items.
 */
export type Order =
  | { readonly type: 'report'; readonly lane: number; readonly reported: ReportedItem }
  | { readonly type: 'storm' }
  | { readonly type: 'calm' }
  | { readonly type: 'usage' }
  | { readonly type: 'check'; readonly lanes: readonly LaneRun[] }

/** A message from it: an answer to each order except `report`, in their order. */
export type Answer =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'done' }
  | { readonly type: 'usage'; readonly gatewayBytes: number; readonly nodeBytes: number | undefined }
  | {
      readonly type: 'checked'
      readonly verdicts: readonly Verdict[]
      readonly faults: Readonly<Record<string, number>>
    }
  | { readonly type: 'failed'; readonly why: string }
