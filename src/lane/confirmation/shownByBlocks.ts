import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'

/**
 * One more than the highest nonce of the account that blocks of the walk hold. Nonces are used in order, so a count below
 * it is wrong, and all below it are used. 0 where no such block is walked.
 */
export function shownByBlocks({
  lane,
  endpointPool,
}: {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
}): number {
  let shown = 0
  for (const slot of lane.book.slots.values()) {
    if (slot.state !== 'used' || slot.at === undefined || slot.nonce < shown) continue
    if (endpointPool.tracker.hashAt(slot.at.number) === slot.at.hash) shown = slot.nonce + 1
  }
  return shown
}
