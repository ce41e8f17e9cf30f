import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Limits } from '../../types/index.js'

type DepthContext = {
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly limits: Limits
  readonly lossDepth: 'child' | 'safe' | number
}
/** Depth at which a block proves an end if the chain was configured to have a `safe` tag and has none. */
const DEPTH_WITHOUT_SAFE = 12

/**
 * The highest block number that is deep enough to prove an end (`lossDepth`); -1 while no such block is
 * known. If the chain is at rest and no child block will come, elapsed time replaces depth.
 */
export function settledUpTo(context: DepthContext, head: number): number {
  const { lossDepth, endpointPool } = context
  if (endpointPool.tracker.isAtRest) return head
  if (lossDepth === 'child') return head - 1
  if (lossDepth !== 'safe') return head - lossDepth
  const safe = endpointPool.tracker.tag('safe')
  return typeof safe === 'number' ? safe : safe === 'absent' ? head - DEPTH_WITHOUT_SAFE : -1
}

/** The block number beyond every reorg: the `finalized` tag if it advances, otherwise a number of blocks. */
export function finalUpTo(context: DepthContext, head: number): number {
  const finalized = context.endpointPool.tracker.tag('finalized')
  const byDepth = head - context.limits.reorgHorizon
  return typeof finalized === 'number' ? Math.max(finalized, byDepth) : byDepth
}
