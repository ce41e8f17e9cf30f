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
 * Emits `foreign` for a nonce that something other than this lane used. A transaction that the lane itself
 * sent in an earlier process, and has pruned from its book since, is in its store and is not foreign. Uses
 * from before the lane's first record are not reported either, unless they took the nonce of a transaction.
 */
export async function emitForeign(
  context: ForeignContext,
  used: {
    readonly nonce: number
    readonly hash: Hash | undefined
    /** Undefined if the block is not known. */
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
