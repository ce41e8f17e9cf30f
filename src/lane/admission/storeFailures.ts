import type { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import type { SendOptions } from '../../types/index.js'
import type { LaneKey, Store } from '../../types/store.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'

/** Builds the error for a transaction that the store did not accept. */
export type StoreFailures = (
  transaction: Transaction,
  options: SendOptions,
  cause: unknown,
) => Promise<TxlaneError>

/** For this long after a failed read the store counts as unreadable. */
const UNREADABLE_MS = 1_000

/**
 * If it is unknown whether the store has the transaction, the fate is `inFlight`: a later process may find and
 * send it.
 */
export function createStoreFailures(
  store: Pick<Store, 'find'>,
  key: LaneKey,
  clock: Pick<Clock, 'now'>,
): StoreFailures {
  let probing: Promise<unknown> | undefined
  let unreadableUntilMs = 0

  /** A store that cannot be read is asked once per `UNREADABLE_MS`, however many transactions it refuses. */
  async function mayBeThere(id: string): Promise<boolean> {
    if (probing) await probing
    if (clock.now() < unreadableUntilMs) return true
    const found = store.find(key, { id }).then(
      (stored) => stored !== undefined,
      () => {
        unreadableUntilMs = clock.now() + UNREADABLE_MS
        return true
      },
    )
    probing ??= found.finally(() => {
      probing = undefined
    })
    return found
  }

  return async (transaction, options, cause) => {
    const unknown = (cause as { details?: unknown } | undefined)?.details === 'unknown'
    const message = 'The store did not take the transaction.'
    const isThere = unknown || (options.id !== undefined && (await mayBeThere(options.id)))
    return txError(transaction, 'STORE', isThere ? 'inFlight' : 'notExecuted', message, cause)
  }
}
