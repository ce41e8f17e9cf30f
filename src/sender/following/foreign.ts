import type { Hash } from 'viem'
import type { Tx } from '../../types.js'
import { type LaneContext, reportError } from '../context.js'

/**
 * Says that something that is not of this lane used a nonce. What the lane itself sent in an earlier life, and has pruned
 * from its book since, is in its store: of that nothing is said. Nor of what the account had sent before anything was known
 * of it, unless it took the place of a transaction.
 */
export async function tellForeign(
  context: LaneContext,
  used: {
    readonly nonce: number
    readonly hash: Hash | undefined
    /** Undefined where the block is not known. */
    readonly block: number | undefined
    readonly tx?: Tx | undefined
  },
): Promise<void> {
  const { lane, store, events, history } = context
  const { nonce, hash, block = Number.POSITIVE_INFINITY, tx } = used
  if (tx === undefined && (block <= history.block || nonce < history.nonce)) return
  const known = hash && store.find(lane.key, { hash })
  const own = await known?.catch((error: unknown) => void reportError(context, error))
  if (own === undefined && !context.closed) events.emit('foreign', { nonce, hash, tx })
}
