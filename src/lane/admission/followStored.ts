import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { createPauses } from '../../platform/pauses.js'
import { createPoller, type Poller } from '../../platform/poller.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits } from '../../types/index.js'
import type { ChainKey, Store, StoredTransaction } from '../../types/store.js'
import { end, moveTo, refresh, settleEnd } from '../transaction/changes.js'
import { fromStored } from '../transaction/stored.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { txError, unresolvedError } from '../transaction/txError.js'
import { rejectWaiters } from '../transaction/waiters.js'

type FollowStoredContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'receipts'>
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
}

type Followed = {
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
    paceMs: () => limits.pollIntervalMs,
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

/** The number of parallel lookups. */
export const LOOKUP_BATCH = 32

/** Looks ids up in order, in batches, and calls `found` for each one; stops when it returns false. */
export async function findByIds(
  store: Pick<Store, 'find'>,
  chain: ChainKey,
  ids: readonly string[],
  found: (stored: StoredTransaction | undefined, id: string) => boolean,
): Promise<void> {
  for (let first = 0; first < ids.length; first += LOOKUP_BATCH) {
    const some = ids.slice(first, first + LOOKUP_BATCH)
    const records = await Promise.all(some.map((id) => store.find(chain, { id })))
    for (const [index, id] of some.entries()) if (!found(records[index], id)) return
  }
}

/** Follows transactions that another process works, by their records in the store. */
type StoreSubscription = {
  /** Reads the records soon, and from then on at intervals, as long as there are ids. */
  pollNow(): void
  stop(): void
}

/** The interval of reads without a notification. */
const LOOK_MS = 1_000
/** The shortest interval with notifications: an active lane is written many times a second. */
const REST_MS = 100

export function createStoreSubscription(parts: {
  readonly store: Pick<Store, 'find'>
  readonly chain: ChainKey
  readonly clock: Clock
  readonly ids: () => readonly string[]
  /** Called with each record that was read; with undefined if the store has none. */
  readonly learn: (stored: StoredTransaction | undefined, id: string) => void
  readonly failed: (error: unknown) => void
}): StoreSubscription {
  const { store, chain, clock, ids, learn, failed } = parts
  let poller: Poller | undefined
  let stopped = false

  async function read(): Promise<void> {
    await findByIds(store, chain, ids(), (stored, id) => {
      if (!stopped) learn(stored, id)
      return !stopped
    })
    if (ids().length > 0) return
    poller?.stop()
    poller = undefined
  }

  return {
    pollNow() {
      if (stopped) return
      poller ??= createPoller({
        clock: () => clock,
        everyMs: () => LOOK_MS,
        restMs: REST_MS,
        read,
        failed,
      })
      poller.pollNow()
    },
    stop() {
      stopped = true
      poller?.stop()
    },
  }
}
