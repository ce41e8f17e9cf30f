import type { FeeValues } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { lastClaim } from '../../ledger/slot.js'
import type { CancelResult } from '../../types/index.js'
import type { Intake } from '../admission/intake.js'
import type { LaneSession } from '../session/laneSession.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import { bumpFees } from '../transaction/bumpFees.js'
import { added } from '../transaction/caller.js'
import { assertLaneOpen, createCancelOutcome } from '../transaction/cancelOutcome.js'
import { requestBump } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import type { TxOperations } from '../transaction/tx.js'
import { txError } from '../transaction/txError.js'

type TxOperationsContext = {
  readonly lane: Lane
  readonly fees: FeeOracle
  readonly transactions: Map<string, Transaction>
  readonly changed: Set<Transaction>
  readonly session: LaneSession
  readonly closed: boolean
}

/** Operations of the lease owner on the transactions of its lane. */
export function createLeaderOperations(parts: {
  context: TxOperationsContext
  intake: Intake
  waitingFor: TxOperations['waitingFor']
}): TxOperations {
  const { context, intake } = parts
  const { lane, session } = context
  const cancelOutcome = createCancelOutcome(session)

  async function cancel(transaction: Transaction): Promise<CancelResult> {
    await transaction.enqueuing?.catch(() => {})
    for (;;) {
      if (transaction.failure || transaction.settled) break
      assertLaneOpen(transaction, session.closing)
      // Another process owns the lane by now.
      if (context.closed) return session.operations!.cancel(transaction)
      const error = txError(transaction, 'CANCELLED', 'notExecuted', 'It was cancelled before it was sent.')
      if (intake.remove(transaction, error)) break
      const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
      if (slot?.state !== 'reserved') {
        intake.askEnd(transaction)
        break
      }
      // A commit in flight counts as journaled. Its result decides which of the two cases applies.
      await lane.journal.flushed()
    }
    return cancelOutcome.outcome(transaction)
  }

  async function speedUp(transaction: Transaction, wanted: Partial<FeeValues> | undefined): Promise<void> {
    const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
    // Nothing is journaled yet, so the transaction will be signed with the market's fees anyway.
    if (slot?.state !== 'live') return
    const fees =
      wanted &&
      bumpFees(session.settings.ownCeiling(transaction.record), { slot, wanted, rule: context.fees.rule })
    requestBump(transaction, fees)
    const named = fees !== undefined && lastClaim(slot) === transaction.id
    lane.apply(slot.nonce, { type: 'speedUp', named, token: lane.token() })
  }

  return {
    cancel,
    async replace(transaction, request, options) {
      await transaction.enqueuing?.catch(() => {})
      const isMoved = context.closed && !session.closing.aborted
      if (isMoved) return session.operations!.replace(transaction, request, options)
      return added(intake.add, request, options, { replaces: transaction })
    },
    speedUp,
    abort: intake.abort,
    waitingFor: parts.waitingFor,
    keep(transaction) {
      const isOwn = transaction.lane.address === lane.key.address
      // A transaction that was removed from memory was written for the last time when it became final.
      const isFinal = transaction.stage === 'finalized'
      if (!isOwn || !(isFinal || context.transactions.get(transaction.id) === transaction)) return
      context.changed.add(transaction)
      if (isFinal) lane.journal.touch()
    },
    raw: ({ nonce, hash }) =>
      nonce === undefined
        ? undefined
        : context.lane.book.get(nonce)?.attempts.find((attempt) => attempt.hash === hash)?.raw,
  }
}
