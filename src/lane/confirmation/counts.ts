import type { Address } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { readCount } from '../../chain/blocks/evidenceReads.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { countCall } from '../../rpc/codec.js'

/** The counts of the account at the other endpoints that answer. */
export async function countsElsewhere(
  endpointPool: Pick<EndpointPool, 'others'>,
  address: Address,
  timeoutMs: number,
  tag: 'latest' | 'pending' = 'latest',
): Promise<readonly number[]> {
  const call = countCall(address, tag)
  const replies = await Promise.all(
    endpointPool.others().map(({ port }) => port.batch([call], { timeoutMs })),
  )
  return replies.map(([reply]) => readCount(reply)).filter((count) => typeof count === 'number')
}

/**
 * One more than the account's highest nonce in the walked blocks. Nonces are used in order, so a lower count
 * is wrong, and all nonces below the result are used. 0 if no walked block contains a nonce of the account.
 */
export function shownByBlocks({
  lane,
  endpointPool,
}: {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
}): number {
  let shown = 0
  for (const slot of lane.book.slots.values()) {
    if (slot.state !== 'used' || slot.at === undefined || slot.nonce < shown) continue
    if (endpointPool.tracker.hashAt(slot.at.number) === slot.at.hash) shown = slot.nonce + 1
  }
  return shown
}
