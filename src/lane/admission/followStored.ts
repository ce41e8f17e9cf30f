import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { createPauses } from '../../platform/pauses.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits } from '../../types/index.js'
import type { Store, StoredTransaction } from '../../types/store.js'
import { end, moveTo, refresh, settleEnd } from '../transaction/changes.js'
import { fromStored } from '../transaction/stored.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { txError, unresolvedError } from '../transaction/txError.js'
import { rejectWaiters } from '../transaction/waiters.js'
import { createStoreSubscription } from './storedById.js'

type FollowStoredContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'receipts'>
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
}

export type Followed = {
  /** Follows the store and the chain; its waiters are woken. */
  readonly transaction: Transaction
  stop(): void
}

/** Longest pause between two checks whether it is pre-confirmed. */
const PENDING_LOOK_MS_MAX = 4_000

/**
 * Follows a transaction that this sender does not work: another process or another sender of this process
 * works its lane, or an earlier process ended it. The store shows its stages and its end; pre-confirmation is
 * read from the chain.
 */
export async function followStored(context: FollowStoredContext, id: string): Promise<Followed> {
  const { store, endpointPool, clock, limits, lane } = context
  const first = await store.find(lane.key, { id })
  if (first === undefined) throw new Error(`No transaction has the id ${JSON.stringify(id)}.`)
  const transaction = fromStored(first)
  let stopped = false

  function learn(stored: StoredTransaction | undefined): void {
    if (stored !== undefined) refresh(transaction, stored)
    else end(transaction, txError(transaction, 'STORE', 'inFlight', 'The store has forgotten it.'), clock)
    if (hasFailed(transaction)) settleEnd(transaction)
    else if (transaction.unresolved) rejectWaiters(transaction, unresolvedError(transaction))
  }

  const subscription = createStoreSubscription({
    store,
    chain: lane.key,
    clock,
    ids: () => [id],
    learn,
    failed: (error) => reportError(context, error),
  })
  const unwatch = store.watch(first.lane, () => subscription.pollNow())

  const pauses = createPauses({
    paceMs: () => endpointPool.reader.profile.current().cadenceMs ?? limits.pollIntervalMs,
    maxMs: PENDING_LOOK_MS_MAX,
  })
  let asked: Hash | undefined
  // The hash that was shown as pre-confirmed. The store may still show the earlier stage.
  let shown: Hash | undefined

  /**
   * Polls at the pace of the flashblocks at first. A transaction that stays pending is polled rarely, because
   * the store reports the rest.
   */
  function watchPending(): void {
    clock.setTimer(() => {
      if (!stopped && !hasReached(transaction, 'preconfirmed')) void lookPending().finally(watchPending)
    }, pauses.nextMs())
  }

  async function lookPending(): Promise<void> {
    const { hash } = transaction
    if (
      hash === undefined ||
      hash === shown ||
      endpointPool.reader.profile.current().pending !== 'preconfirmed'
    )
      return
    // Other bytes were sent: start again at the fast pace.
    if (hash !== asked) pauses.reset()
    asked = hash
    const isThere = (await endpointPool.receipts.find(hash)) !== undefined
    if (!isThere) return pauses.fruitless()
    shown = hash
    if (!hasReached(transaction, 'preconfirmed')) moveTo(transaction, 'preconfirmed', clock)
  }

  subscription.pollNow()
  watchPending()
  return {
    transaction,
    stop() {
      stopped = true
      unwatch()
      subscription.stop()
    },
  }
}
