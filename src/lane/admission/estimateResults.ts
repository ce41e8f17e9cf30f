import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { WaitCause } from '../../types/wait.js'
import { checkGas } from '../../validate/validate.js'
import type { Estimate } from '../gas/gas.js'
import { update } from '../transaction/changes.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import type { GasRequests } from './gasRequests.js'
import type { MoveResult } from './poolRebalancer.js'
import { cannotPay, reverts } from './prepareErrors.js'
import { estimateCause, type UnknownEstimates } from './unknownEstimates.js'

/** The parts that learn how the preparation of a transaction ended. */
export type PreparationOutcome = {
  readonly ready: (transaction: Transaction) => void
  readonly failed: (transaction: Transaction, error: TxlaneError) => void
  /** Tries to move the transaction to another lane, because this account cannot pay for it. */
  readonly tryMoveToFundedLane: (transaction: Transaction) => MoveResult
}

/** Turns the result of an estimate into the next step of the preparation. */
export type EstimateResults = {
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
