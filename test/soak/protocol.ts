import type { Address, Hex } from 'viem'
import type { ReportedItem, Verdict } from '../../tools/cli/demo/check.js'
import type { StartPoint } from '../../tools/cli/demo/walk.js'
import type { GasLimits } from '../../tools/cli/demo/workload.js'

/** What of one key's run the check has to know. What was asked follows from it, and need not be sent. */
export type LaneRun = {
  readonly account: Address
  readonly start: StartPoint
  readonly ledger: { readonly address: Address; readonly hash: Hex }
  readonly gas: GasLimits
  readonly seed: number
  /** Of a workload of `count` items the first `sent` were asked for. */
  readonly count: number
  readonly sent: number
  /** Nonces that the sender said it used up with a no-op. */
  readonly noops: readonly number[]
}

/** To the process of the chain. Reports go there at once, so that the sender's process keeps nothing of what ended. */
export type Order =
  | { readonly type: 'report'; readonly lane: number; readonly reported: ReportedItem }
  | { readonly type: 'storm' }
  | { readonly type: 'calm' }
  | { readonly type: 'usage' }
  | { readonly type: 'check'; readonly lanes: readonly LaneRun[] }

/** From it: an answer to each order but `report`, in their order. */
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
