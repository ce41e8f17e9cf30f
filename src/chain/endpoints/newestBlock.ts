import type { BlockRef } from '../../ledger/slot.js'
import type { EndpointPool } from './endpointPool.js'

/** One reference for all attempts that were made at a block, because there may be thousands of them. */
const blockRefs = new WeakMap<BlockRef, BlockRef>()

/** The newest block, for `Attempt.madeAt`. */
export function newestBlock({
  endpointPool,
}: {
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
}): BlockRef | undefined {
  const { head } = endpointPool.tracker
  if (head === undefined) return undefined
  const ref = blockRefs.get(head) ?? { number: head.number, hash: head.hash }
  blockRefs.set(head, ref)
  return ref
}
