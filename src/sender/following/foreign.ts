import type { Hash } from 'viem'
import type { Tx } from '../../types.js'
import { type LaneContext, reportError } from '../context.js'

/**
 * Says that something that is not of this lane used a nonce. What the lane itself sent in an earlier life, and has pruned
 * from its book since, is in its store: of that nothing is said.
 */
export async function tellForeign(
  context: LaneContext,
  payload: { readonly nonce: number; readonly hash: Hash | undefined; readonly tx?: Tx | undefined },
): Promise<void> {
  const { lane, store, events } = context
  const { hash } = payload
  const known = hash && store.find(lane.key, { hash })
  const own = await known?.catch((error: unknown) => void reportError(context, error))
  if (own === undefined && !context.closed) events.emit('foreign', payload)
}
