import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import type { Stage, Tx } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import { isOfFormerLife, refresh } from './stored.js'
import { end, endStage, hasFailed, hasReached, settleEnd, type Transaction } from './transaction.js'

type TransactionEventsContext = {
  readonly lane: Lane
  readonly clock: Clock
  readonly events: Emitter
  readonly changed: Set<Transaction>
  txOf(transaction: Transaction): Tx
}

type Listeners = { readonly events: Emitter; readonly txOf: (transaction: Transaction) => Tx }

/**
 * Ends it without execution, for this reason. Told, and done with, once it is in the store: what was told must not be
 * undone by a crash (P5).
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

/** Another process worked on it: it is what the store says now, and who waits for it or listens here is told. */
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

/** Whoever looks rarely finds it final and was never told that it is sealed. */
function announcedStage(stage: Stage): Stage {
  return stage === 'finalized' ? 'sealed' : stage
}

/** Tells who listens the stage that it has come to; of an end without execution, why. */
export function emitStage({ events, txOf }: Listeners, transaction: Transaction): void {
  const { failure } = transaction
  const stage = announcedStage(transaction.stage)
  const tx = transaction.handle ?? txOf(transaction)
  if (failure) return events.emit(endStage(failure.code), { tx, error: failure })
  if (stage === 'signed' || stage === 'accepted' || stage === 'preconfirmed' || stage === 'sealed')
    events.emit(stage, { tx })
}
