import { headOf, sealedAt } from '../chain/chainView.js'
import { bigint, fail, hexOf, INVALID_PARAMS, ok } from '../rpc/rpcTypes.js'
import type { ReadHandler } from './readContext.js'
import { selected } from './readContext.js'

export const gasPrice: ReadHandler = ({ view, tipWei }) => ok(hexOf(view.opening.baseFeePerGas + tipWei))

export const maxPriorityFeePerGas: ReadHandler = ({ tipWei }) => ok(hexOf(tipWei))

const BLOCKS_MAX = 1024

/**
 * Covers sealed blocks only, at most as many as exist. The reward is the suggested tip for a block that used
 * gas, and 0 for an empty one, regardless of the tips that were paid.
 */
export const feeHistory: ReadHandler = (context, [count, newest, percentiles]) => {
  const at = selected(context, newest)
  const last = at.kind === 'sealed' ? at.block : at.kind === 'pending' ? headOf(context.view) : undefined
  const wanted = Math.min(Number(count), BLOCKS_MAX)
  if (last === undefined || !(wanted >= 1)) return fail(INVALID_PARAMS, 'invalid fee history range')
  const headers = []
  for (let number = last.number; number > last.number - wanted; number -= 1) {
    const block = sealedAt(context.view, number)
    if (block === undefined) break
    headers.unshift(block.header)
  }
  const next = sealedAt(context.view, last.number + 1)?.header.baseFeePerGas
  const ratios = headers.map(
    (header) => Number((bigint(header, 'gasUsed') * 10_000n) / bigint(header, 'gasLimit')) / 10_000,
  )
  const tip = hexOf(context.tipWei)
  return ok({
    oldestBlock: headers[0]?.number,
    baseFeePerGas: [
      ...headers.map(({ baseFeePerGas }) => baseFeePerGas),
      next ?? hexOf(context.view.opening.baseFeePerGas),
    ],
    gasUsedRatio: ratios,
    ...(Array.isArray(percentiles) && percentiles.length > 0
      ? { reward: ratios.map((ratio) => percentiles.map(() => (ratio === 0 ? '0x0' : tip))) }
      : {}),
  })
}
