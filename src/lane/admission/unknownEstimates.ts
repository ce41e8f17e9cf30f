import { createApart, type Moment } from '../../chain/endpoints/apart.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { TxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { CancelTimer, Clock, Random } from '../../platform/clock.js'
import type { Limits } from '../../types/index.js'
import type { WaitCause } from '../../types/wait.js'
import type { Estimate } from '../gas/gas.js'
import { describe, hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'

const RETRIES_MAX = 8

/** After this many equal answers at different blocks the answer is final. */
const ANSWERS_MAX = 3

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

function refused(transaction: Transaction, cause: Error, said: string): TxlaneError {
  const message = `The node refuses to run the transaction before it is sent, ${ANSWERS_MAX} times in the same words.`
  const tx = describe(transaction)
  return new TxlaneError(message, { code: 'PREPARE_REVERTED', fate: 'notExecuted', tx, cause, details: said })
}

function unanswered(transaction: Transaction, cause: Error): TxlaneError {
  return txError(transaction, 'REJECTED', 'notExecuted', 'The gas estimate got no usable answer.', cause)
}

type Answer = { readonly words: string; readonly times: number; readonly at: Moment }

/** Counts the repeated failures of a node to run a transaction. */
type Answers = {
  /**
   * Counts the message, if blocks or time have passed since the last count. Another message restarts the
   * count.
   */
  note(transaction: Transaction, words: string): Answer
  /** Calls `ask` at the next block, or after a time if no block comes. */
  again(transaction: Transaction, ask: () => void): void
  newHead(): void
  forget(transaction: Transaction): void
  readonly size: number
}

function createAnswers(
  context: { readonly endpointPool: Pick<EndpointPool, 'tracker'>; readonly clock: Clock },
  isOver: (transaction: Transaction) => boolean,
): Answers {
  const apart = createApart(context)
  const answers = new WeakMap<Transaction, Answer>()
  const waiting = new Map<Transaction, { readonly ask: () => void; readonly cancel: CancelTimer }>()

  function fire(transaction: Transaction): void {
    const wait = waiting.get(transaction)
    forget(transaction)
    if (wait !== undefined && !isOver(transaction)) wait.ask()
  }

  function forget(transaction: Transaction): void {
    waiting.get(transaction)?.cancel()
    waiting.delete(transaction)
  }

  return {
    note(transaction, words) {
      const plain = withoutNumbers(words)
      const before = answers.get(transaction)
      const same = before?.words === plain ? before : undefined
      if (same !== undefined && !apart.isNew(same.at)) return same
      const answer = { words: plain, times: (same?.times ?? 0) + 1, at: apart.now() }
      answers.set(transaction, answer)
      return answer
    },
    again(transaction, ask) {
      forget(transaction)
      const waitMs = apart.waitMs(answers.get(transaction)?.at ?? apart.now())
      const cancel = context.clock.setTimer(() => fire(transaction), waitMs)
      waiting.set(transaction, { ask, cancel })
      context.endpointPool.tracker.wake()
    },
    newHead() {
      for (const transaction of [...waiting.keys()]) {
        const answer = answers.get(transaction)
        if (isOver(transaction) || apart.isNew(answer?.at)) fire(transaction)
      }
    },
    forget,
    get size() {
      return waiting.size
    },
  }
}

/** Block numbers, balances and hashes in a message change from block to block. */
function withoutNumbers(words: string): string {
  return words.toLowerCase().replace(/0x[0-9a-f]+|\d+/g, '#')
}

const RETRY_MS = 100
const RETRY_MS_MAX = 3_000

type RetriesContext = {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  readonly random: Random
  readonly limits: Pick<Limits, 'restMsMax'>
  readonly closed: boolean
}

/** Calls `run` after a pause that grows with `tries`, or after the pause that the node asked for. */
type ScheduleRetry = (tries: number, retryAfterMs: number | undefined, run: () => void) => void

/** Retries that are due in the same tenth of a second share a timer, and so a request. */
function createRetries(context: RetriesContext): ScheduleRetry {
  const { clock, limits, random } = context
  // By the time at which they are due.
  const retries = new Map<number, (() => void)[]>()

  return (tries, retryAfterMs = 0, run) => {
    const usualMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** tries) * (1 + random() / 2)
    const afterMs = Math.max(usualMs, Math.min(retryAfterMs, limits.restMsMax))
    const atMs = Math.ceil((clock.now() + afterMs) / RETRY_MS) * RETRY_MS
    const others = retries.get(atMs)
    if (others) return void others.push(run)
    const all = [run]
    retries.set(atMs, all)
    clock.setTimer(() => {
      retries.delete(atMs)
      if (!context.closed) for (const one of all) one()
    }, atMs - clock.now())
  }
}
