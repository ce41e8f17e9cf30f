import type { HandedOff, LaneHandle } from '../lane/session/laneSession.js'
import { fromStored } from '../lane/transaction/stored.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import { follow } from '../lane/transaction/transactionEvents.js'
import type { Waiting } from '../lane/transaction/waiting.js'
import type { Clock } from '../platform/clock.js'
import { createLooks } from '../platform/poller.js'
import { reportError } from '../platform/reportError.js'
import { hasEnded } from '../store/ended.js'
import type { Store, StoredTransaction, Wish } from '../types/store.js'
import { unsupported } from '../validate/validate.js'
import { findEach } from './findByIds.js'
import { createGuestOperations } from './standbyOperations.js'

/** The transactions of callers in this process whose lanes this process does not have open. */
export type Strays = HandedOff & {
  all(): Iterable<Transaction>
  stop(): void
}

const LOOK_MS = 1_000
const REST_MS = 100

export function createStrays(parts: {
  readonly handle: LaneHandle
  readonly store: Store
  readonly clock: Clock
}): Strays {
  const { handle, store, clock } = parts
  const { key } = handle
  const strays = new Map<string, Transaction>()
  let looks: ReturnType<typeof createLooks> | undefined

  const operations = createGuestOperations({
    handle,
    add: () => {
      throw unsupported('replace() of a transaction of another account', 'cancel it, and send another')
    },
    leave: (id, wish: Wish) => store.wish(key, id, wish),
    stopped: () => false,
    async readAgain({ id }) {
      const stored = await store.find(key, { id })
      if (stored) learn(stored)
      return stored !== undefined
    },
    failed: (error) => reportError(handle, error),
  })

  const waiting: Waiting = {
    ...handle.waiting,
    wait(transaction, ...asked) {
      const landing = handle.waiting.wait(transaction, ...asked)
      watch(transaction)
      return landing
    },
  }

  function learn(stored: StoredTransaction): void {
    const transaction = strays.get(stored.id)
    if (transaction === undefined) return
    follow(handle, transaction, stored)
    if (!isFollowed(transaction)) strays.delete(stored.id)
  }

  async function read(): Promise<void> {
    await findEach(store, key, [...strays.keys()], (stored) => {
      learn(stored)
      return true
    })
    if (strays.size > 0 || looks === undefined) return
    looks.stop()
    looks = undefined
  }

  /** The store is asked about it from now on. */
  function watch(transaction: Transaction): void {
    if (!isFollowed(transaction)) return
    strays.set(transaction.id, transaction)
    looks ??= createLooks({
      clock: () => clock,
      everyMs: () => LOOK_MS,
      restMs: REST_MS,
      read,
      failed: (error) => reportError(handle, error),
    })
    looks.look()
  }

  function add(transaction: Transaction, stored: StoredTransaction): void {
    const { id } = transaction
    if (handle.transactions.get(id) === transaction) handle.transactions.delete(id)
    handle.faceIn(transaction, { operations, waiting })
    follow(handle, transaction, stored)
    handle.takenOver(transaction)
    watch(transaction)
  }

  function take(transaction: Transaction, stored: StoredTransaction): Transaction {
    const known = strays.get(stored.id)
    if (known) return known
    add(transaction, stored)
    return transaction
  }

  return {
    add,
    found: (stored) => take(fromStored(stored), stored),
    take,
    all: () => strays.values(),
    stop: () => looks?.stop(),
  }
}

/** Its fate is open, or somebody waits for a later stage. */
function isFollowed({ stage, settled, waiters = [] }: Transaction): boolean {
  return !hasEnded(stage) && (!settled || waiters.length > 0)
}
