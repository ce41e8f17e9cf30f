import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { WaitCause } from '../../types/wait.js'
import { mostGas } from '../../validate/gasBounds.js'
import { checkGas } from '../../validate/validate.js'
import type { Estimate, GasEstimator } from '../gas/gas.js'
import type { SequenceGas } from '../gas/sequenceGas.js'
import { update } from '../transaction/changes.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { MoveResult } from './poolRebalancer.js'
import type { Sequences } from './sequences.js'
import { estimateCause, type UnknownEstimates } from './unknownEstimates.js'

/** Requests the gas of transactions from the node: by an estimate, a simulation or a simulated sequence. */
type GasRequests = {
  /** Whether a node has to run the transaction before it is ready. */
  isNeeded(transaction: Transaction): boolean
  /** Undefined if the estimate is impossible until its predecessors in the sequence are visible. */
  ask(transaction: Transaction): Promise<Estimate | undefined>
  /**
   * The gas limit for an estimate. Gas set by the caller stays unchanged. An estimate is multiplied, but not
   * beyond the gas of a block.
   */
  limitOf(transaction: Transaction, estimate: bigint): bigint
}

export type GasRequestOptions = {
  readonly context: {
    readonly lane: Lane
    readonly endpointPool: Pick<EndpointPool, 'chain' | 'endpoints' | 'tracker'>
  }
  readonly estimator: GasEstimator
  readonly simulate: boolean
  readonly gasMultiplier: number
  readonly sequences: Pick<Sequences, 'before'>
  readonly sequenceGas: SequenceGas
}

export function createGasRequests(options: GasRequestOptions): GasRequests {
  const { context, estimator, sequences } = options
  const { lane, endpointPool } = context

  return {
    // A private transaction brings its gas, and a simulation would reveal it to the reader endpoint.
    isNeeded: ({ record }) => record.request.gas === undefined || (options.simulate && !record.private),
    async ask(transaction) {
      const { request } = transaction
      const from = lane.key.address
      const before = sequences.before(transaction)
      if (before.length > 0) return options.sequenceGas(before, transaction)
      return request.gas === undefined ? estimator.estimate(request, from) : estimator.simulate(request, from)
    },
    limitOf({ request }, estimate) {
      if (request.gas !== undefined) return request.gas
      const gas = scaled(estimate, options.gasMultiplier)
      const most = mostGas(endpointPool.chain, endpointPool.tracker.newest)
      return most !== undefined && gas > most && estimate <= most ? most : gas
    },
  }
}

function scaled(gas: bigint, multiplier: number): bigint {
  if (multiplier === 1) return gas
  return (gas * BigInt(Math.ceil(multiplier * 1_000)) + 999n) / 1_000n
}

/** The parts that learn how the preparation of a transaction ended. */
export type PreparationOutcome = {
  readonly ready: (transaction: Transaction) => void
  readonly failed: (transaction: Transaction, error: TxlaneError) => void
  /** Tries to move the transaction to another lane, because this account cannot pay for it. */
  readonly tryMoveToFundedLane: (transaction: Transaction) => MoveResult
}

/** Turns the result of an estimate into the next step of the preparation. */
type EstimateResults = {
  /** The caller set the gas, and no node has to run the transaction. */
  takeGiven(transaction: Transaction): void
  take(transaction: Transaction, estimate: Estimate, tries: number): void
}

/** The transaction does not run on the state of this moment. */
type Unmet = Extract<Estimate, { kind: 'reverted' | 'funds' }>

export function createEstimateResults(
  endpointPool: Pick<EndpointPool, 'chain' | 'reader' | 'tracker'>,
  parts: {
    readonly gas: Pick<GasRequests, 'limitOf'>
    /** Whether earlier transactions may change the answer. */
    readonly mayChange: (transaction: Transaction) => boolean
    readonly park: (transaction: Transaction, cause: WaitCause) => void
    readonly unknowns: Pick<UnknownEstimates, 'take'>
    readonly outcome: PreparationOutcome
  },
): EstimateResults {
  const { outcome } = parts

  function takeUnmet(transaction: Transaction, estimate: Unmet): void {
    const isFunds = estimate.kind === 'funds'
    // The transaction may depend on earlier ones; its effect is certain only after those.
    if (parts.mayChange(transaction) || (isFunds && transaction.record.starved === undefined))
      return parts.park(transaction, causeOf(estimate))
    if (!isFunds) return outcome.failed(transaction, reverts(transaction, estimate.cause))
    const moved = outcome.tryMoveToFundedLane(transaction)
    if (moved === 'later') parts.park(transaction, causeOf(estimate))
    if (moved === 'never') outcome.failed(transaction, cannotPay(transaction, estimate.cause))
  }

  function causeOf({ kind, cause }: Unmet): WaitCause {
    if (kind === 'funds') return { for: 'funds', said: quoteOf(cause) }
    return estimateCause(endpointPool.reader.port.name, cause, 1)
  }

  return {
    takeGiven(transaction) {
      if (hasFailed(transaction)) return
      try {
        checkGas(transaction.request, endpointPool.chain, endpointPool.tracker.newest)
      } catch (error) {
        return outcome.failed(transaction, error as TxlaneError)
      }
      update(transaction, { gas: transaction.request.gas })
      outcome.ready(transaction)
    },
    take(transaction, estimate, tries) {
      switch (estimate.kind) {
        case 'gas':
          update(transaction, { gas: parts.gas.limitOf(transaction, estimate.gas) })
          return outcome.ready(transaction)
        case 'reverted':
        case 'funds':
          return takeUnmet(transaction, estimate)
        case 'unknown':
          return parts.unknowns.take(transaction, estimate, tries)
        default:
          return estimate satisfies never
      }
    },
  }
}

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

function reverts(transaction: Transaction, cause: Error): TxlaneError {
  const message = 'The transaction reverts when it is run before it is sent.'
  return txError(transaction, 'PREPARE_REVERTED', 'notExecuted', message, cause)
}

function cannotPay(transaction: Transaction, cause: Error): TxlaneError {
  return txError(transaction, 'STARVED', 'notExecuted', 'The account cannot pay for it.', cause)
}
