import type { Hash } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { createPauses } from '../../platform/pauses.js'
import { createPoller } from '../../platform/poller.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits } from '../../types/index.js'
import type { Store, StoredTransaction } from '../../types/store.js'
import { fromStored, refresh } from '../transaction/stored.js'
import {
  end,
  hasFailed,
  hasReached,
  moveTo,
  settleEnd,
  type Transaction,
} from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { unresolvedError } from '../transaction/unresolved.js'
import { rejectWaiters } from '../transaction/waiters.js'

type FollowStoredContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
}

export type Followed = {
  /** Moves as the store and the chain tell; who waits for it is woken. */
  readonly transaction: Transaction
  stop(): void
}

/** How often the store is asked without a hint. */
const LOOK_MS = 1_000
/** At most so often with hints: a lane at work is written many times a second. */
const REST_MS = 100
/** How often at least the chain is asked whether it is pre-confirmed. */
const PENDING_LOOK_MS_MAX = 4_000

/**
 * Follows a transaction that is nobody's here: another process works its lane, another sender of this one, or an
 * earlier life ended it. The store tells its stages and its end; that it is pre-confirmed is asked of the chain.
 */
export async function followStored(context: FollowStoredContext, id: string): Promise<Followed> {
  const { store, endpointPool, clock, limits, lane } = context
  const find = () => store.find(lane.key, { id })
  const first = await find()
  if (first === undefined) throw new Error(`No transaction has the id ${JSON.stringify(id)}.`)
  const transaction = fromStored(first)
  let stopped = false

  function learn(stored: StoredTransaction | undefined): void {
    if (stored !== undefined) refresh(transaction, stored)
    else end(transaction, txError(transaction, 'STORE', 'inFlight', 'The store has forgotten it.'), clock)
    if (hasFailed(transaction)) settleEnd(transaction)
    else if (transaction.unresolved) rejectWaiters(transaction, unresolvedError(transaction))
  }

  async function read(): Promise<void> {
    const stored = await find()
    if (!stopped) learn(stored)
  }

  const poller = createPoller({
    clock: () => clock,
    everyMs: () => LOOK_MS,
    restMs: REST_MS,
    read,
    failed: (error) => reportError(context, error),
  })
  const unwatch = store.watch(first.lane, () => poller.pollNow())

  const pauses = createPauses({
    paceMs: () => endpointPool.reader.profile.current().cadenceMs ?? limits.pollIntervalMs,
    maxMs: PENDING_LOOK_MS_MAX,
  })
  let asked: Hash | undefined
  // The store may go on to say what it said before.
  let shown: Hash | undefined

  /** At the pace of the flashblocks at first: what is long under way is asked for seldom, the store tells the rest. */
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
    // Other bytes are on their way.
    if (hash !== asked) pauses.reset()
    asked = hash
    const isThere = (await endpointPool.receipts.look(hash)) !== undefined
    if (!isThere) return pauses.fruitless()
    shown = hash
    if (!hasReached(transaction, 'preconfirmed')) moveTo(transaction, 'preconfirmed', clock)
  }

  poller.pollNow()
  watchPending()
  return {
    transaction,
    stop() {
      stopped = true
      unwatch()
      poller.stop()
    },
  }
}
