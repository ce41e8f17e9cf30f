import type { StoredTransaction } from '../../store/store.js'
import { type LaneContext, reportError, txError } from '../context.js'
import { createLooks } from '../looks.js'
import {
  end,
  fromStored,
  hasFailed,
  hasReached,
  moveTo,
  refresh,
  rejectWaiters,
  type Transaction,
  tellEnd,
} from '../transaction/transaction.js'
import { unresolvedError } from '../transaction/unresolved.js'

export type Followed = {
  /** Moves as the store and the chain tell; who waits for it is woken. */
  readonly transaction: Transaction
  stop(): void
}

/** How often the store is asked without a hint. */
const LOOK_MS = 1_000
/** At most so often with hints: a lane at work is written many times a second. */
const REST_MS = 100

/**
 * Follows a transaction that is nobody's here: another process works its lane, another sender of this one, or an
 * earlier life ended it. The store tells its stages and its end; that it is pre-confirmed is asked of the chain.
 */
export async function followStored(context: LaneContext, id: string): Promise<Followed> {
  const { store, hub, clock, limits, lane } = context
  const find = () => store.find(lane.key, { id })
  const first = await find()
  if (first === undefined) throw new Error(`No transaction has the id ${JSON.stringify(id)}.`)
  const transaction = fromStored(first)
  let stopped = false

  function learn(stored: StoredTransaction | undefined): void {
    if (stored !== undefined) refresh(transaction, stored)
    else end(transaction, txError(transaction, 'STORE', 'inFlight', 'The store has forgotten it.'))
    if (hasFailed(transaction)) tellEnd(transaction)
    else if (transaction.unresolved) rejectWaiters(transaction, unresolvedError(transaction))
  }

  async function read(): Promise<void> {
    const stored = await find()
    if (!stopped) learn(stored)
  }

  const looks = createLooks({
    clock: () => clock,
    everyMs: () => LOOK_MS,
    restMs: REST_MS,
    read,
    failed: (error) => reportError(context, error),
  })
  const unwatch = store.watch(first.lane, () => looks.look())

  /** At the pace of the flashblocks, for as long as there is something to be seen before it is sealed. */
  function watchPending(): void {
    const { pending, cadenceMs } = hub.reader.profile.current()
    clock.setTimer(async () => {
      if (stopped || hasReached(transaction, 'preconfirmed')) return
      const { hash } = transaction
      const shows = pending === 'preconfirmed' && hash !== undefined
      if (shows && (await hub.receipts.look(hash)) && !hasReached(transaction, 'preconfirmed'))
        moveTo(transaction, 'preconfirmed')
      watchPending()
    }, cadenceMs ?? limits.pollIntervalMs)
  }

  looks.look()
  watchPending()
  return {
    transaction,
    stop() {
      stopped = true
      unwatch()
      looks.stop()
    },
  }
}
