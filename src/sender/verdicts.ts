import type { CancelResult } from '../types.js'
import { txError } from './context.js'
import type { LaneHandle } from './handle.js'
import { hasReached, type Transaction } from './transaction.js'
import type { Stop } from './unlessStopped.js'
import { closedError } from './waiting.js'

/** What callers who want an end are told of it, whoever works the lane. */
export type Verdicts = {
  /** Resolves once it is certain, and kept, whether it executed; or when the lane closes. */
  verdict(transaction: Transaction): Promise<void>
  /** It ended. Told once that is in the store: a crash would undo it (P5). */
  ended(transaction: Transaction): Promise<CancelResult>
  tooLate(transaction: Transaction): Promise<CancelResult>
  /** Once the verdict is there: one of the two. */
  outcome(transaction: Transaction): Promise<CancelResult>
}

export function createVerdicts(handle: LaneHandle): Verdicts {
  const { closing } = handle

  function verdict(transaction: Transaction): Promise<void> {
    if (transaction.endKept || transaction.settled || closing.stopped()) return Promise.resolve()
    return handle.counted(
      () =>
        new Promise<void>((resolve) => {
          transaction.verdicts = [...(transaction.verdicts ?? []), resolve]
        }),
    )
  }

  async function ended(transaction: Transaction): Promise<CancelResult> {
    await verdict(transaction)
    if (!transaction.endKept) checkWatched(transaction, closing)
    const { failure, hash, rebound } = transaction
    const signed = hash !== undefined || rebound
    const byOthers = failure?.code === 'EXPIRED' || failure?.code === 'ABORTED'
    return { result: signed && !byOthers ? 'cancelled' : 'removed' }
  }

  async function tooLate(transaction: Transaction): Promise<CancelResult> {
    return { result: 'tooLate', landed: await handle.waiting.wait(transaction, 'sealed', {}) }
  }

  return {
    verdict,
    ended,
    tooLate,
    async outcome(transaction) {
      await verdict(transaction)
      if (transaction.failure) return ended(transaction)
      if (!transaction.settled) checkWatched(transaction, closing)
      return tooLate(transaction)
    },
  }
}

/** After close nobody of this process signs, sends or follows the chain any more. */
export function checkWatched(transaction: Transaction, closing: Stop): void {
  if (closing.stopped()) throw closedError(transaction)
}

/** What has landed or ended cannot be changed any more. */
export function checkOpen(transaction: Transaction, what: 'replace' | 'bump'): void {
  if (!transaction.failure && !hasReached(transaction, 'sealed')) return
  const fate = hasReached(transaction, 'sealed')
    ? 'executed'
    : transaction.endKept
      ? 'notExecuted'
      : 'inFlight'
  const message = `It is ${transaction.stage} already: there is nothing to ${what}.`
  throw txError(transaction, 'TOO_LATE', fate, message)
}
