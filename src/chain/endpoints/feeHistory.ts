import { decodeQuantity } from '../../rpc/codec.js'
import { isMethodRefused, malformed, resultOf } from '../../rpc/errors.js'
import type { Port, RpcCall } from '../../rpc/port.js'
import type { FeePreset } from '../../types/index.js'
import type { EndpointPool } from './endpointPool.js'

/** The tips that recent blocks paid, read on demand: once for each newest block, for all lanes of the endpoint pool. */
export type FeeHistory = {
  /**
   * The tips of each preset, from the reader, or from the given port, whose answer is not shared. Undefined if the endpoint
   * has no `eth_feeHistory`, or if no transaction of the last blocks paid a tip.
   */
  tips(port?: Port): Promise<Tips | undefined>
}

export function createFeeHistory(
  endpointPool: Pick<EndpointPool, 'tracker'> & { readonly reader: { readonly port: Port } },
  timeoutMs: number,
): FeeHistory {
  // The method is not tried again: a node does not gain a method while it runs.
  const without = new WeakSet<Port>()
  let asked: { readonly head: unknown; readonly tips: Promise<Tips | undefined> } | undefined

  async function ask(port: Port): Promise<Tips | undefined> {
    if (without.has(port)) return undefined
    const [reply] = await port.batch([tipsCall], { timeoutMs })
    if (reply !== undefined && !reply.ok && isMethodRefused(FEE_HISTORY, reply.failure)) {
      without.add(port)
      return undefined
    }
    return tipsOf(resultOf(FEE_HISTORY, reply))
  }

  return {
    tips(port) {
      if (port !== undefined) return ask(port)
      const head = endpointPool.tracker.newest?.hash
      // A failure is kept too: the next block triggers a new read, and the caller uses another price until then.
      if (asked === undefined || asked.head !== head) asked = { head, tips: ask(endpointPool.reader.port) }
      return asked.tips
    },
  }
}

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

const FEE_HISTORY = 'eth_feeHistory'

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
