import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { update } from '../transaction/changes.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import type { GasRequests } from './gasRequests.js'

/** Between two estimates of transactions that the account cannot pay for. */
const PAUSE_MS = 10_000

export type RepeatedEstimatesContext = {
  readonly clock: Pick<Clock, 'now'>
  readonly errors: Repeats<Error>
  readonly closed: boolean
}

/**
 * Estimates the gas of a transaction again, now and then, because the account cannot pay for it: one answer may
 * have been far too high.
 */
export function createRepeatedEstimates(
  context: RepeatedEstimatesContext,
  gas: Pick<GasRequests, 'ask' | 'limitOf'>,
): (transaction: Transaction) => void {
  let notBeforeMs = Number.NEGATIVE_INFINITY

  async function estimateAgain(transaction: Transaction): Promise<void> {
    const estimate = await gas.ask(transaction)
    if (context.closed || hasFailed(transaction) || transaction.nonce !== undefined) return
    if (estimate?.kind === 'gas') update(transaction, { gas: gas.limitOf(transaction, estimate.gas) })
  }

  return (transaction) => {
    const nowMs = context.clock.now()
    if (transaction.request.gas !== undefined || nowMs < notBeforeMs) return
    notBeforeMs = nowMs + PAUSE_MS
    void estimateAgain(transaction).catch((error: unknown) => reportError(context, error))
  }
}
