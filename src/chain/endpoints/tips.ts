import { decodeQuantity } from '../../rpc/codec.js'
import { malformed } from '../../rpc/errors.js'
import type { RpcCall } from '../../rpc/port.js'
import type { FeePreset } from '../../types/index.js'

/** A tip for each preset, in wei per gas; never below that of the preset before it. */
export type Tips = Readonly<Record<FeePreset, bigint>>

/**
 * The percentile of each preset: the share of a block's gas, in percent, whose transactions paid no more. Wallets use 10 to
 * 30 (MetaMask/core gas-fee-controller), services of block builders up to 90.
 */
const PERCENTILES = { economy: 10, normal: 50, urgent: 90 } as const satisfies Record<FeePreset, number>
const PRESETS = ['economy', 'normal', 'urgent'] as const satisfies readonly FeePreset[]
// alloy-rs/alloy crates/provider/src/utils.rs, EIP1559_FEE_ESTIMATION_PAST_BLOCKS.
const BLOCKS = 10

export const FEE_HISTORY = 'eth_feeHistory'

export const tipsCall: RpcCall = {
  method: FEE_HISTORY,
  params: [`0x${BLOCKS.toString(16)}`, 'latest', PRESETS.map((preset) => PERCENTILES[preset])],
}

/**
 * The tip of each preset: the median of the tips at its percentile over the blocks. Undefined if no transaction of the blocks
 * paid a tip: nodes answer zeros for an empty block, and for one with only the rollup's own transactions.
 *
 * @throws a typed error for a malformed answer to `tipsCall`
 */
export function tipsOf(answer: unknown): Tips | undefined {
  const { reward } = (answer ?? {}) as { reward?: unknown }
  if (!Array.isArray(reward)) throw malformed(FEE_HISTORY, 'reward is not an array')
  const blocks = reward.map(tipsOfBlock).filter(([, , highest]) => highest > 0n)
  if (blocks.length === 0) return undefined
  const at = (percentile: number) => median(blocks.map((tips) => tips[percentile] as bigint))
  return { economy: at(0), normal: at(1), urgent: at(2) }
}

/** A percentile is never below the one before it: an answer that is not monotonic is corrected upwards. */
function tipsOfBlock(block: unknown): readonly [bigint, bigint, bigint] {
  if (!Array.isArray(block) || block.length < PRESETS.length)
    throw malformed(FEE_HISTORY, `a block's reward has fewer than ${PRESETS.length} percentiles`)
  const [low, middle, high] = block.map((tip) => decodeQuantity(tip, FEE_HISTORY, 'a reward'))
  const economy = low as bigint
  const normal = larger(economy, middle as bigint)
  return [economy, normal, larger(normal, high as bigint)]
}

/** For an even number of values, the lower one of the two in the middle. */
function median(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return sorted[(sorted.length - 1) >> 1] as bigint
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
