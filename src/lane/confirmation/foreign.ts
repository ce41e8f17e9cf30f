import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Tx } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import type { Seed } from './seeding.js'

type ForeignContext = {
  readonly lane: Lane
  readonly store: Store
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly closed: boolean
  readonly history: Seed['history']
}

/**
 * Says that something that is not of this lane used a nonce. What the lane itself sent in an earlier life, and has pruned
 * from its book since, is in its store: of that nothing is said. Nor of what the account had sent before anything was known
 * of it, unless it took the place of a transaction.
 */
export async function tellForeign(
  context: ForeignContext,
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
