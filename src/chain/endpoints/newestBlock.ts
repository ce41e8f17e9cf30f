import type { BlockRef } from '../../ledger/slot.js'
import type { Hub } from './endpointPool.js'

/** One reference for all attempts that were made at a block, because there may be thousands of them. */
const blockRefs = new WeakMap<BlockRef, BlockRef>()

/** The newest block, for `Attempt.madeAt`. */
export function newestBlock({ hub }: { readonly hub: Hub }): BlockRef | undefined {
  const { head } = hub.tracker
  if (head === undefined) return undefined
  const ref = blockRefs.get(head) ?? { number: head.number, hash: head.hash }
  blockRefs.set(head, ref)
  return ref
}
