import type { FeeValues } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { lastClaim } from '../../ledger/slot.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { CancelResult, Tx } from '../../types/index.js'
import type { LaneCommand, Store } from '../../types/store.js'
import type { Intake } from '../admission/intake.js'
import type { LaneSession } from '../session/laneSession.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import { bumpFees } from '../transaction/bumpFees.js'
import { added } from '../transaction/caller.js'
import { assertLaneOpen, createCancelOutcome } from '../transaction/cancelOutcome.js'
import { requestBump, setUnresolved } from '../transaction/changes.js'
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
      // A settled transaction may have been removed from memory, so that no later write takes it along.
      const { settled } = transaction
      if (!isOwn || !(settled || context.transactions.get(transaction.id) === transaction)) return
      context.changed.add(transaction)
      if (settled) lane.journal.touch()
    },
    raw: ({ nonce, hash }) =>
      nonce === undefined
        ? undefined
        : context.lane.book.get(nonce)?.attempts.find((attempt) => attempt.hash === hash)?.raw,
  }
}

type RemoteCommandsContext = {
  readonly lane: Lane
  readonly store: Store
  readonly errors: Repeats<Error>
  readonly transactions: Map<string, Transaction>
  txOf(transaction: Transaction): Tx
}

/** Commands to the lease owner by transaction id, from another process or from an operator. */
export type RemoteCommands = {
  /** Executes the command of a caller in another process. That caller learns the result from the store. */
  fulfil(id: string, command: LaneCommand): void
  /**
   * Applies the operator's decision on an unresolved transaction (row 27). Returns false if no unresolved
   * transaction has that id.
   */
  resolve(id: string, fate: 'executed' | 'notExecuted'): boolean
}

export function createRemoteCommands(
  context: RemoteCommandsContext,
  operations: TxOperations,
): RemoteCommands {
  const { lane, transactions, txOf, store } = context

  function resolve(id: string, fate: 'executed' | 'notExecuted'): boolean {
    const transaction = transactions.get(id)
    if (!transaction?.unresolved || transaction.nonce === undefined) return false
    setUnresolved(transaction, false)
    lane.apply(transaction.nonce, { type: 'resolve', claim: id, fate })
    return true
  }

  /**
   * The transaction has moved to another lane since the command was posted, so the command is forwarded.
   */
  async function pass(id: string, command: LaneCommand): Promise<void> {
    const stored = await store.find(lane.key, { id })
    if (stored !== undefined && stored.lane.address !== lane.key.address)
      await store.postCommand(lane.key, id, command)
  }

  return {
    resolve,
    fulfil(id, command) {
      const transaction = transactions.get(id)
      lane.journal.touch()
      if (transaction === undefined)
        return void pass(id, command).catch((error) => reportError(context, error))
      const tx = txOf(transaction)
      // A transaction that has landed or ended cannot be changed; the requester learns that from the store.
      const nothing = () => {}
      switch (command.kind) {
        case 'cancel':
          return void tx.cancel().catch(nothing)
        case 'abort':
          return operations.abort(transaction)
        case 'speedUp':
          return void tx
            .speedUp(command.fees as FeeValues | undefined)
            .catch(() => tx.speedUp())
            .catch(nothing)
        case 'resolve':
          return void resolve(id, command.fate)
        default:
          return command satisfies never
      }
    },
  }
}
