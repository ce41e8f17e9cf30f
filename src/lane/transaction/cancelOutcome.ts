import type { CancelResult } from '../../types/index.js'
import { fateOf, hasReached, type Transaction } from './transaction.js'
import { closedError, txError } from './txError.js'
import type { Waiting } from './waiting.js'

/** The answer to callers that want a transaction to end, whichever process owns the lane. */
export type CancelOutcome = {
  /**
   * Resolves once the result is certain and in the store. A crash or a lost lease undoes an end that is not
   * in the store yet, and the transaction may execute after all (P5).
   */
  outcome(transaction: Transaction): Promise<CancelResult>
}

export function createCancelOutcome(session: {
  readonly closing: AbortSignal
  readonly waiting: Waiting
  readonly whileWaiting: <T>(work: () => Promise<T>) => Promise<T>
}): CancelOutcome {
  const { closing } = session

  function verdict(transaction: Transaction): Promise<void> {
    if (transaction.endPersisted || transaction.settled || closing.aborted) return Promise.resolve()
    return session.whileWaiting(
      () =>
        new Promise<void>((resolve) => {
          transaction.cancelWaiters = [...(transaction.cancelWaiters ?? []), resolve]
        }),
    )
  }

  return {
    async outcome(transaction) {
      await verdict(transaction)
      if (transaction.endPersisted) return endedResult(transaction)
      if (!transaction.settled) assertLaneOpen(transaction, closing)
      return { result: 'tooLate', landed: await session.waiting.wait(transaction, 'sealed', {}) }
    },
  }
}

/** The result of `cancel` for a transaction that ended without execution. */
export function endedResult({ failure, hash, notes }: Transaction): CancelResult {
  // The transaction was never admitted. The error says whether the store may contain it nevertheless.
  if (failure?.code === 'STORE') throw failure
  const signed = hash !== undefined || notes?.previouslySigned
  const byOthers = failure?.code === 'EXPIRED' || failure?.code === 'ABORTED'
  return { result: signed && !byOthers ? 'cancelled' : 'removed' }
}

/** After close this process neither signs nor sends, and does not follow the chain. */
export function assertLaneOpen(transaction: Transaction, closing: AbortSignal): void {
  if (closing.aborted) throw closedError(transaction)
}

/** A transaction that has landed or ended cannot be changed. */
export function assertChangeable(transaction: Transaction, what: 'replace' | 'bump'): void {
  if (!transaction.failure && !hasReached(transaction, 'sealed')) return
  const message = `It is ${transaction.stage} already: there is nothing to ${what}.`
  throw txError(transaction, 'TOO_LATE', fateOf(transaction), message)
}
