import type { Lane } from '../../allocator/lane.js'
import { isTxlaneError, type TxlaneError } from '../../errors/base.js'
import { AccountFailure } from '../../errors/redactError.js'
import { lastClaim } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { note } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { Job } from './job.js'

const RETRY_MS = 500
const RETRY_MS_MAX = 10_000

export type SignFailuresContext = {
  readonly lane: Lane
  readonly clock: Pick<Clock, 'now'>
  readonly transactions: ReadonlyMap<string, Transaction>
  readonly errors: Repeats<Error>
}

/** Returns the function that handles a job that failed: its claim is withdrawn, or the error is reported. */
export function createSignFailures(context: SignFailuresContext): (job: Job, error: unknown) => void {
  const { lane, clock, transactions } = context

  /** Its callers know it as sent, so one failure of the signer does not end it. */
  function signLater(transaction: Transaction, nonce: number, error: unknown): void {
    const failures = transaction.notes?.signerPause?.failures ?? 0
    const pauseMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** failures)
    note(transaction, 'signerPause', { failures: failures + 1, untilMs: clock.now() + pauseMs })
    reportError(context, error)
    lane.apply(nonce, { type: 'withdraw', claim: transaction.id, why: 'again' })
  }

  return ({ kind, nonce, token }, error) => {
    const slot = lane.book.get(nonce)
    const id = slot && lastClaim(slot)
    const transaction = id === undefined ? undefined : transactions.get(id)
    if (kind === 'claim' && transaction && slot && 'token' in slot && slot.token === token) {
      if (slot.state === 'reserved' && transaction.notes?.previouslySigned)
        return signLater(transaction, nonce, error)
      note(transaction, 'withdrawError', signerError(transaction, error))
      lane.apply(nonce, { type: 'withdraw', claim: transaction.id, why: 'failed' })
      return
    }
    // A bump or a no-op that could not be signed is requested again when the nonce is stuck the next time.
    reportError(context, error)
  }
}

function signerError(transaction: Transaction, error: unknown): TxlaneError {
  if (isTxlaneError(error)) return error
  const cause = error instanceof AccountFailure ? error.cause : error
  return txError(transaction, 'SIGNER', 'notExecuted', 'The account could not sign the transaction.', cause)
}
