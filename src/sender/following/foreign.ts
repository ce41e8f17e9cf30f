import type { Hash } from 'viem'
import { type LaneContext, reportError } from '../context.js'

/**
 * Says that something that is not of this lane used a nonce. What the lane itself sent in an earlier life, and has pruned
 * from its book since, is in its store: of that nothing is said.
 */
export async function tellForeign(
  context: LaneContext,
  nonce: number,
  hash: Hash | undefined,
): Promise<void> {
  const { lane, store, events } = context
  const known = hash && store.find(lane.key, { hash })
  const own = await known?.catch((error: unknown) => void reportError(context, error))
  if (own === undefined && !context.closed) events.emit('foreign', { nonce, hash })
}
