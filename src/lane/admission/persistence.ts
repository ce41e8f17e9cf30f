import type { Address } from 'viem'
import type { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { hasEnded, hasEndedUnexecuted, mayRestart } from '../../store/ended.js'
import type { SendOptions } from '../../types/index.js'
import type { Enqueued, LaneKey, Store, StoredTransaction } from '../../types/store.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Caller } from '../transaction/caller.js'
import { end, refresh, settleEnd, update } from '../transaction/changes.js'
import { fromStored, toStored } from '../transaction/stored.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { AdmissionListener } from './admission.js'
import type { EnqueueCallbacks } from './enqueueBatcher.js'
import { idConflict, isSameRequest } from './idConflict.js'

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
  readonly store: Pick<Store, 'find' | 'restart'>
  readonly clock: Clock
  /** A transaction with this sequence number is known. */
  readonly seen: (sequence: number) => void
  /** Whether the lane of this address on the same chain is open in this process. */
  readonly isOpen: (address: Address) => boolean
}): EnqueueCallbacks<Persisting> {
  const { session, store } = parts
  const { key } = session
  const rejections = createRejections(session.transactions, parts.clock)
  const storeFailure = createStoreFailures(store, key, parts.clock)

  function onPersisted(entry: Persisting, enqueued: Enqueued | undefined): Promise<void> | undefined {
    if (enqueued && isRestart(entry, enqueued)) return restart(entry, enqueued.transaction)
    entry.transaction.enqueuing = undefined
    if (entry.transaction.again) entry.transaction.again = undefined
    try {
      entry.caller.persisted(admitted(entry, enqueued))
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
    const error = rejections.reject(transaction, await storeFailure(transaction, options, cause))
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
    if (!hasEnded(stored.stage)) return session.foundSealed?.(transaction)
    rejections.forget(transaction)
    settleEnd(transaction)
  }

  return { persisted: onPersisted, failed: onPersistFailed }
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

/** Ends transactions that are known in this process but are not admitted. */
type Rejections = {
  /** Ends the transaction with the error. Waits of callers that found it by its id meanwhile end too. */
  reject(transaction: Transaction, error: TxlaneError): TxlaneError
  /**
   * The id stands for an ended transaction. Callers that found this one by its id meanwhile get the same end.
   */
  endedBefore(transaction: Transaction, stored: StoredTransaction): TxlaneError
  /** @throws TxlaneError `ID_CONFLICT` if the id stands for another request */
  assertSame(stored: StoredTransaction, transaction: Transaction): void
  conflict(stored: StoredTransaction, transaction: Transaction): TxlaneError
  forget(transaction: Transaction): void
}

function createRejections(transactions: Map<string, Transaction>, clock: Clock): Rejections {
  function reject(transaction: Transaction, error: TxlaneError): TxlaneError {
    end(transaction, error, clock)
    forget(transaction)
    settleEnd(transaction)
    return error
  }

  function endedBefore(transaction: Transaction, stored: StoredTransaction): TxlaneError {
    assertSame(stored, transaction)
    refresh(transaction, stored)
    forget(transaction)
    settleEnd(transaction)
    return endedError(fromStored(stored))
  }

  function assertSame(stored: StoredTransaction, transaction: Transaction): void {
    if (!isSameRequest(stored, transaction.record)) throw conflict(stored, transaction)
  }

  function conflict(stored: StoredTransaction, transaction: Transaction): TxlaneError {
    const error = idConflict(fromStored(stored), transaction)
    const { tx } = error
    // `tx` describes the transaction that the id stands for. This one's description would say how it ended.
    return Object.assign(reject(transaction, error), { tx })
  }

  function forget(transaction: Transaction): void {
    if (transactions.get(transaction.id) === transaction) transactions.delete(transaction.id)
  }

  return { reject, endedBefore, assertSame, conflict, forget }
}

/**
 * The error for an id whose transaction ended without execution. `tx` says how it ended, the cause says why.
 */
function endedError(ended: Transaction): TxlaneError {
  const { id, stage, failure } = ended
  const how = failure === undefined ? '' : ` (${failure.code}: ${failure.shortMessage})`
  const next = mayRestart(stage)
    ? 'It did not execute. With `again: true` it begins anew under this id.'
    : 'Its replacement took its place: look at that one.'
  const message = `The transaction with the id ${JSON.stringify(id)} was sent before, and ended: it is ${stage}${how}. ${next}`
  return txError(ended, 'ENDED', 'notExecuted', message, failure)
}

/** Builds the error for a transaction that the store did not accept. */
type StoreFailures = (transaction: Transaction, options: SendOptions, cause: unknown) => Promise<TxlaneError>

/** For this long after a failed read the store counts as unreadable. */
const UNREADABLE_MS = 1_000

/**
 * If it is unknown whether the store has the transaction, the fate is `inFlight`: a later process may find and
 * send it.
 */
function createStoreFailures(
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
