import type { Clock } from '../../clock.js'
import { hasEnded } from '../../store/ended.js'
import type { Store, StoredTransaction, Wish } from '../../store/store.js'
import { reportError } from '../context.js'
import { unsupported } from '../input/validate.js'
import { createLooks } from '../looks.js'
import { follow } from '../transaction/telling.js'
import type { Transaction } from '../transaction/transaction.js'
import { findEach } from './finds.js'
import { createGuestOperations } from './guestOperations.js'
import type { LaneHandle } from './handle.js'

/**
 * Transactions that callers here have, and that went to a lane of their pool which is not open in this process. The
 * store tells what becomes of them, and is where word is left for whoever holds that lane.
 */
export type Strays = {
  add(transaction: Transaction, stored: StoredTransaction): void
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
      throw unsupported(
        'replace() of what another account of the pool has by now',
        'cancel it, and send another',
      )
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

  function learn(stored: StoredTransaction): void {
    const transaction = strays.get(stored.id)
    if (transaction === undefined) return
    follow(handle, transaction, stored)
    if (hasEnded(transaction.stage)) strays.delete(stored.id)
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

  return {
    add(transaction, stored) {
      handle.transactions.delete(transaction.id)
      strays.set(transaction.id, transaction)
      handle.faceIn(transaction, operations)
      learn(stored)
      handle.takenOver(transaction)
      looks ??= createLooks({
        clock: () => clock,
        everyMs: () => LOOK_MS,
        restMs: REST_MS,
        read,
        failed: (error) => reportError(handle, error),
      })
      looks.look()
    },
    all: () => strays.values(),
    stop: () => looks?.stop(),
  }
}
