import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { Clock } from '../../platform/clock.js'
import type { WaitCause } from '../../types/wait.js'
import type { Estimate } from '../gas/gas.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { ANSWERS_MAX, createAnswers } from './answers.js'
import { refused, unanswered } from './prepareErrors.js'
import { createRetries, type RetriesContext } from './retries.js'

const RETRIES_MAX = 8

type UnknownEstimate = Extract<Estimate, { kind: 'unknown' }>

export type UnknownEstimatesContext = RetriesContext & {
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'tracker'>
  readonly clock: Clock
}

/** Repeats estimates without a result, until one has a result or the failure is final. */
export type UnknownEstimates = {
  take(transaction: Transaction, estimate: UnknownEstimate, tries: number): void
  newHead(): void
  forget(transaction: Transaction): void
  /** Number of transactions that wait for the next block to repeat their estimate. */
  readonly size: number
}

export function createUnknownEstimates(
  context: UnknownEstimatesContext,
  parts: {
    /** Whether earlier transactions may change the answer. */
    readonly mayChange: (transaction: Transaction) => boolean
    readonly park: (transaction: Transaction, cause: WaitCause) => void
    readonly stepAside: (transaction: Transaction, cause: WaitCause) => void
    readonly prepare: (transaction: Transaction, tries: number) => void
    readonly failed: (transaction: Transaction, error: TxlaneError) => void
  },
): UnknownEstimates {
  const { endpointPool } = context
  const scheduleRetry = createRetries(context)
  const answers = createAnswers(context, (transaction) => context.closed || hasFailed(transaction))

  const causeOf = (cause: Error, tries: number): WaitCause =>
    estimateCause(endpointPool.reader.port.name, cause, tries)

  function retry(transaction: Transaction, tries: number, { cause, retryAfterMs }: UnknownEstimate): void {
    parts.stepAside(transaction, causeOf(cause, tries + 1))
    scheduleRetry(tries, retryAfterMs, () => parts.prepare(transaction, tries + 1))
  }

  /**
   * The node answers with an unknown message. The same message three times, at different blocks, is final.
   */
  function countAnswer(transaction: Transaction, { cause }: UnknownEstimate): void {
    const answer = answers.note(transaction, quoteOf(cause))
    if (answer.times < ANSWERS_MAX) {
      parts.stepAside(transaction, causeOf(cause, answer.times))
      return answers.again(transaction, () => parts.prepare(transaction, 0))
    }
    if (parts.mayChange(transaction)) return parts.park(transaction, causeOf(cause, 1))
    const said = `${endpointPool.reader.port.name} said: ${quoteOf(cause)}`
    parts.failed(transaction, refused(transaction, cause, said))
  }

  return {
    take(transaction, estimate, tries) {
      switch (estimate.how) {
        case 'words':
          return countAnswer(transaction, estimate)
        case 'absurd':
          // An absurd answer never decides; only the pause between retries bounds its cost.
          return retry(transaction, Math.min(tries, RETRIES_MAX - 1), estimate)
        case 'silence':
          if (tries >= RETRIES_MAX) return parts.failed(transaction, unanswered(transaction, estimate.cause))
          return retry(transaction, tries, estimate)
        default:
          return estimate.how satisfies never
      }
    },
    newHead: answers.newHead,
    forget: answers.forget,
    get size() {
      return answers.size
    },
  }
}

/** The cause of the wait for an estimate that the endpoint answered with an error. */
export function estimateCause(endpoint: string, cause: Error, tries: number): WaitCause {
  return { for: 'estimate', endpoint, tries, said: quoteOf(cause) }
}
