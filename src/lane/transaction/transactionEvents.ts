import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import type { Stage, Tx } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import { end, refresh, settleEnd } from './changes.js'
import { isOfFormerLife } from './stored.js'
import { endStage, hasFailed, hasReached, type Transaction } from './transaction.js'
import { unresolvedError } from './txError.js'
import { rejectWaiters } from './waiters.js'

type TransactionEventsContext = {
  readonly lane: Lane
  readonly clock: Clock
  readonly events: Emitter
  readonly changed: Set<Transaction>
  txOf(transaction: Transaction): Tx
}

type Listeners = { readonly events: Emitter; readonly txOf: (transaction: Transaction) => Tx }

/**
 * Ends it without execution, for this reason. Listeners are notified and the transaction is removed once the
 * end is in the store, because a crash must not undo an announced end (P5).
 */
export function endWith(
  context: TransactionEventsContext,
  transaction: Transaction,
  error: TxlaneError,
  forget: (transaction: Transaction) => void,
): void {
  end(transaction, error, context.clock)
  context.changed.add(transaction)
  context.lane.journal.touch(() => {
    settleEnd(transaction)
    emitStage(context, transaction)
    forget(transaction)
  })
}

/**
 * Applies a stored record that another process wrote, and notifies waiters and listeners of this process.
 */
export function follow(listeners: Listeners, transaction: Transaction, stored: StoredTransaction): void {
  if (isOfFormerLife(transaction, stored)) return
  const { stage: before } = transaction
  refresh(transaction, stored)
  const { stage } = transaction
  const isNews = hasFailed(transaction)
    ? stage !== before
    : !hasReached({ stage: before }, announcedStage(stage))
  if (isNews) emitStage(listeners, transaction)
  if (hasFailed(transaction) || transaction.settled) settleEnd(transaction)
}

/**
 * A process that rarely reads the store may find the transaction final without having announced that it is
 * sealed.
 */
function announcedStage(stage: Stage): Stage {
  return stage === 'finalized' ? 'sealed' : stage
}

/** Emits the stage of the transaction, with the error if it ended without execution. */
export function emitStage({ events, txOf }: Listeners, transaction: Transaction): void {
  const { failure } = transaction
  const stage = announcedStage(transaction.stage)
  const tx = transaction.handle ?? txOf(transaction)
  if (failure) return events.emit(endStage(failure.code), { tx, error: failure })
  if (stage === 'signed' || stage === 'accepted' || stage === 'preconfirmed' || stage === 'sealed')
    events.emit(stage, { tx })
}

/**
 * No process can determine whether it executed. Waiters are rejected, and `unresolved` is emitted because an
 * operator has to decide.
 */
export function reportUnresolved({ events, txOf }: Listeners, transaction: Transaction): void {
  rejectWaiters(transaction, unresolvedError(transaction))
  events.emit('unresolved', { nonce: transaction.nonce ?? -1, tx: txOf(transaction) })
}
