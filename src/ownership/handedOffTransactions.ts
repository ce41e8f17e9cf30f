import { createStoreSubscription } from '../lane/admission/followStored.js'
import type { HandedOff, LaneSession } from '../lane/session/laneSession.js'
import { fromStored } from '../lane/transaction/stored.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import { follow } from '../lane/transaction/transactionEvents.js'
import type { Waiting } from '../lane/transaction/waiting.js'
import type { Clock } from '../platform/clock.js'
import { reportError } from '../platform/reportError.js'
import { hasEnded } from '../store/ended.js'
import type { LaneCommand, Store, StoredTransaction } from '../types/store.js'
import { unsupported } from '../validate/validate.js'
import { createStandbyOperations } from './standbyOperations.js'

/** The transactions of callers in this process whose lanes this process does not have open. */
export type HandedOffTransactions = HandedOff & {
  all(): Iterable<Transaction>
  stop(): void
}

export function createHandedOffTransactions(parts: {
  readonly session: LaneSession
  readonly store: Store
  readonly clock: Clock
}): HandedOffTransactions {
  const { session, store, clock } = parts
  const { key } = session
  const followed = new Map<string, Transaction>()

  const operations = createStandbyOperations({
    session,
    add: () => {
      throw unsupported('replace() of a transaction of another account', 'cancel it, and send another')
    },
    post: (id, command: LaneCommand) => store.postCommand(key, id, command),
    isOver: () => false,
    async readAgain({ id }) {
      const stored = await store.find(key, { id })
      if (stored) learn(stored)
      return stored !== undefined
    },
    failed: (error) => reportError(session, error),
  })

  const waiting: Waiting = {
    ...session.waiting,
    wait(transaction, ...asked) {
      const landing = session.waiting.wait(transaction, ...asked)
      watch(transaction)
      return landing
    },
  }

  function learn(stored: StoredTransaction | undefined): void {
    if (stored === undefined) return
    const transaction = followed.get(stored.id)
    if (transaction === undefined) return
    follow(session, transaction, stored)
    if (!isFollowed(transaction)) followed.delete(stored.id)
  }

  const subscription = createStoreSubscription({
    store,
    chain: key,
    clock,
    ids: () => [...followed.keys()],
    learn,
    failed: (error) => reportError(session, error),
  })

  /** Follows the transaction in the store from now on. */
  function watch(transaction: Transaction): void {
    if (!isFollowed(transaction)) return
    followed.set(transaction.id, transaction)
    subscription.pollNow()
  }

  function add(transaction: Transaction, stored: StoredTransaction): void {
    const { id } = transaction
    if (session.transactions.get(id) === transaction) session.transactions.delete(id)
    session.rebindTx(transaction, { operations, waiting })
    follow(session, transaction, stored)
    session.replayCallerRequests(transaction)
    watch(transaction)
  }

  function take(transaction: Transaction, stored: StoredTransaction): Transaction {
    const known = followed.get(stored.id)
    if (known) return known
    add(transaction, stored)
    return transaction
  }

  return {
    add,
    found: (stored) => take(fromStored(stored), stored),
    take,
    all: () => followed.values(),
    stop: subscription.stop,
  }
}

/** The fate is open, or a caller waits for a later stage. */
function isFollowed({ stage, settled, waiters = [] }: Transaction): boolean {
  return !hasEnded(stage) && (!settled || waiters.length > 0)
}
