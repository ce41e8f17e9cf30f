import type { StopSignal } from '../../platform/stopSignal.js'
import type { CancelResult } from '../../types/index.js'
import { fateOf, hasReached, type Transaction } from './transaction.js'
import { txError } from './txError.js'
import { closedError, type Waiting } from './waiting.js'

/** What callers who want an end are told of it, whoever works the lane. */
export type CancelOutcome = {
  /**
   * Resolves once it is certain, and kept, which it is. A crash, or a lane that was lost meanwhile, undoes an end
   * that is not in the store yet: what was ended here may execute all the same (P5).
   */
  outcome(transaction: Transaction): Promise<CancelResult>
}

export function createCancelOutcome(handle: {
  readonly closing: StopSignal
  readonly waiting: Waiting
  readonly whileWaiting: <T>(work: () => Promise<T>) => Promise<T>
}): CancelOutcome {
  const { closing } = handle

  function verdict(transaction: Transaction): Promise<void> {
    if (transaction.endPersisted || transaction.settled || closing.stopped()) return Promise.resolve()
    return handle.whileWaiting(
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
      return { result: 'tooLate', landed: await handle.waiting.wait(transaction, 'sealed', {}) }
    },
  }
}

/** What `cancel` gives for one that ended without execution. */
export function endedResult({ failure, hash, previouslySigned: rebound }: Transaction): CancelResult {
  // It was never taken on. Whether the store has it all the same is what its error says.
  if (failure?.code === 'STORE') throw failure
  const signed = hash !== undefined || rebound
  const byOthers = failure?.code === 'EXPIRED' || failure?.code === 'ABORTED'
  return { result: signed && !byOthers ? 'cancelled' : 'removed' }
}

/** After close nobody of this process signs, sends or follows the chain any more. */
export function assertLaneOpen(transaction: Transaction, closing: StopSignal): void {
  if (closing.stopped()) throw closedError(transaction)
}

/** What has landed or ended cannot be changed any more. */
export function assertChangeable(transaction: Transaction, what: 'replace' | 'bump'): void {
  if (!transaction.failure && !hasReached(transaction, 'sealed')) return
  const message = `It is ${transaction.stage} already: there is nothing to ${what}.`
  throw txError(transaction, 'TOO_LATE', fateOf(transaction), message)
}
