import type { Clock } from '../../clock.js'
import { hasEnded } from '../../store/ended.js'
import type { Store, StoredTransaction, Wish } from '../../store/store.js'
import { reportError } from '../context.js'
import { unsupported } from '../input/validate.js'
import { createLooks } from '../looks.js'
import { fromStored } from '../transaction/stored.js'
import { follow } from '../transaction/telling.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Waiting } from '../transaction/waiting.js'
import { findEach } from './finds.js'
import { createGuestOperations } from './guestOperations.js'
import type { LaneHandle } from './handle.js'

/**
 * Transactions that callers here have, of lanes that are not open in this process: they went to another lane of their
 * pool, or were found by their ids. The store tells what becomes of them, and is where word is left for whoever holds
 * such a lane.
 */
export type Strays = {
  add(transaction: Transaction, stored: StoredTransaction): void
  /** The one that was read from the store. */
  found(stored: StoredTransaction): Transaction
  /** What somebody here was about to send has been sent by another account: the one that callers have from now on. */
  take(transaction: Transaction, stored: StoredTransaction): Transaction
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
