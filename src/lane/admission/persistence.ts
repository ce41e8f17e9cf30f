import type { Address } from 'viem'
import type { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { hasEnded, hasEndedUnexecuted, mayRestart } from '../../store/ended.js'
import type { SendOptions } from '../../types/index.js'
import type { Enqueued, Store, StoredTransaction } from '../../types/store.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Caller } from '../transaction/caller.js'
import { refresh, settleEnd, update } from '../transaction/changes.js'
import { toStored } from '../transaction/stored.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { AdmissionListener } from './admissionListener.js'
import type { EnqueueCallbacks } from './enqueueBatcher.js'
import { isSameRequest } from './idConflict.js'
import { createRejections } from './rejections.js'
import type { StoreFailures } from './storeFailures.js'

/** A transaction that is being persisted, and the parties to notify. */
export type Persisting = {
  readonly transaction: Transaction
  readonly options: SendOptions
  readonly listener: AdmissionListener
  readonly caller: Caller
}

/** Handles the answers of the store to `enqueue`: the id may be new, known, restarted, ended or refused. */
export function createPersistence(parts: {
  readonly session: LaneSession
  readonly store: Pick<Store, 'restart'>
  readonly clock: Clock
  readonly storeFailure: StoreFailures
  /** A transaction with this sequence number is known. */
  readonly seen: (sequence: number) => void
  /** Whether the lane of this address on the same chain is open in this process. */
  readonly isOpen: (address: Address) => boolean
}): EnqueueCallbacks<Persisting> {
  const { session, store } = parts
  const { key } = session
  const rejections = createRejections(session.transactions, parts.clock)

  function onPersisted(entry: Persisting, enqueued: Enqueued | undefined): Promise<void> | undefined {
    if (enqueued && isRestart(entry, enqueued)) return restart(entry, enqueued.transaction)
    entry.transaction.enqueuing = undefined
    if (entry.transaction.again) entry.transaction.again = undefined
    try {
      entry.caller.kept(admitted(entry, enqueued))
    } catch (error) {
      entry.caller.failed(error)
    }
    return undefined
  }

  /**
   * Restarts the id. If several callers do that at once, the store answers all with the first one's
   * transaction.
   */
  async function restart(entry: Persisting, ended: StoredTransaction): Promise<void> {
    update(entry.transaction, { life: (ended.life ?? 0) + 1 })
    await store.restart(toStored(entry.transaction), ended).then(
      (enqueued) => onPersisted(entry, enqueued),
      (error: unknown) => onPersistFailed(entry, error),
    )
  }

  function admitted(entry: Persisting, enqueued: Enqueued | undefined): Transaction {
    const { transaction, options, listener } = entry
    try {
      if (enqueued === undefined) throw rejections.reject(transaction, closedBeforeSend(transaction, options))
      if (!enqueued.fresh && hasEndedUnexecuted(enqueued.transaction.stage))
        throw rejections.endedBefore(transaction, enqueued.transaction)
      if (enqueued.transaction.lane.address !== key.address) return ofOtherLane(entry, enqueued.transaction)
      const { sequence } = enqueued.transaction
      if (!enqueued.fresh) adoptStored(transaction, enqueued.transaction)
      else if (transaction.sequence !== sequence) update(transaction, { sequence })
    } catch (error) {
      listener.onRejected(transaction)
      throw error
    }
    parts.seen(transaction.sequence)
    // If the transaction was persisted but never picked up, because the answer of the store was lost, it is
    // picked up now.
    if (enqueued.transaction.stage === 'queued') listener.onAdmitted(transaction, options)
    else listener.onRejected(transaction)
    return transaction
  }

  /** Another account sends the transaction, or has sent it. */
  function ofOtherLane({ transaction, listener }: Persisting, stored: StoredTransaction): Transaction {
    rejections.assertSame(stored, transaction)
    // If that lane is open here, the sender pool asks that lane.
    const other = parts.isOpen(stored.lane.address) ? undefined : session.handedOff?.take(transaction, stored)
    if (other === undefined) throw rejections.conflict(stored, transaction)
    rejections.forget(transaction)
    listener.onRejected(transaction)
    return other
  }

  async function onPersistFailed(entry: Persisting, cause: unknown): Promise<void> {
    const { transaction, options, listener, caller } = entry
    const error = rejections.reject(transaction, await parts.storeFailure(transaction, options, cause))
    transaction.enqueuing = undefined
    listener.onRejected(transaction)
    if (error.fate === 'inFlight') listener.onInDoubt(transaction.id)
    caller.failed(error)
  }

  /**
   * The store knows the id from an earlier time or another process. Waits for this transaction now wait for
   * the stored one.
   */
  function adoptStored(transaction: Transaction, stored: StoredTransaction): void {
    rejections.assertSame(stored, transaction)
    // The first caller made it private and set the gas that a private transaction needs.
    if (stored.private && !transaction.record.private) refresh(transaction, stored)
    if (stored.stage === 'queued') {
      return update(transaction, { sequence: stored.sequence, life: stored.life })
    }
    // The stage was updated meanwhile, and is newer than this delayed answer.
    if (transaction.stage !== 'queued') return
    refresh(transaction, stored)
    if (!hasEnded(stored.stage)) return
    rejections.forget(transaction)
    settleEnd(transaction)
  }

  return { kept: onPersisted, failed: onPersistFailed }
}

/** Whether the id stands for a transaction that ended without execution, and the caller asked for `again`. */
function isRestart({ transaction, options }: Persisting, { fresh, transaction: stored }: Enqueued): boolean {
  return (
    !fresh && options.again === true && mayRestart(stored.stage) && isSameRequest(stored, transaction.record)
  )
}

/** A caller's own id may be in the store from an earlier process, which may have sent the transaction. */
export function closedBeforeSend(transaction: Transaction, { id }: SendOptions): TxlaneError {
  const message = 'The sender was closed before it was sent.'
  return txError(transaction, 'CLOSED', id === undefined ? 'notExecuted' : 'inFlight', message)
}
