import type { Lane } from '../../allocator/lane.js'
import type { Attempt, Live, Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Stage, Tx } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import { bindTo, moveTo, signedIn } from '../transaction/changes.js'
import { hasFailed, hasReached, type Transaction } from '../transaction/transaction.js'
import { emitStage } from '../transaction/transactionEvents.js'
import { isBoundElsewhere } from './boundElsewhere.js'

type LiveStagesContext = {
  readonly lane: Lane
  readonly clock: Clock
  readonly events: Emitter
  readonly changed: Set<Transaction>
  txOf(transaction: Transaction): Tx
}

/**
 * Derives the stage, nonce and hash of a transaction from the live slot to which it is bound. Emits a stage
 * when the transaction reaches it for the first time. A stage that is lost again (a reorg, a withdrawn
 * pre-confirmation) changes without an event.
 */
export function createLiveStages(context: LiveStagesContext) {
  const { lane, clock, changed } = context

  function reach(transaction: Transaction, stage: Stage, back: boolean): void {
    if (transaction.stage === stage) return
    const before = transaction.stage
    const up = !hasReached(transaction, stage) || before === 'queued'
    if (!up && !back && before !== 'preconfirmed') return
    moveTo(transaction, stage, clock)
    if (up) emitStage(context, transaction)
    if (!transaction.watchedRemotely) return
    changed.add(transaction)
    lane.journal.touch()
  }

  return (transaction: Transaction, before: Slot | undefined, after: Live): void => {
    if (hasFailed(transaction) || isBoundElsewhere(lane.book, transaction, after.nonce)) return
    let own: Attempt | undefined
    let accepted = false
    let preconfirmed = false
    for (const attempt of after.attempts) {
      if (attempt.claim !== transaction.id) continue
      // The pending block may contain an attempt other than the newest one, or an attempt of another claim.
      if (!preconfirmed) own = attempt
      preconfirmed ||= attempt.hash === after.preconfirmed?.hash
      accepted ||= attempt.accepted
    }
    if (own === undefined) return bindTo(transaction, after.nonce)
    const { hash } = own
    if (signedIn(transaction, after, { hash, isRestored: before === undefined }, clock))
      changed.add(transaction)
    reach(
      transaction,
      preconfirmed ? 'preconfirmed' : accepted ? 'accepted' : 'signed',
      before?.state === 'used',
    )
  }
}
