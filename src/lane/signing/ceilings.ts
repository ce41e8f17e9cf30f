import { ceilingAbove, type FeeCeiling, type Fees, transactionCeiling } from '../../ledger/fees.js'
import { newestAttempt, type Slot } from '../../ledger/slot.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Transaction } from '../transaction/transaction.js'
import { explicitFees } from './explicitFees.js'
import type { FeeOracle } from './feeOracle.js'

/** The most that may be offered for a unit of gas at one nonce. */
export type Ceilings = {
  /**
   * The transaction's own, or its group's, where it has one. Otherwise two steps below the lane's, or two above what callers themselves
   * named for what sits there.
   */
  transaction(transaction: Transaction, slot: Slot | undefined): FeeCeiling
  /**
   * The lane's, or two steps above what transactions offer there, or what the caller named for the one that waits next:
   * it cannot land above a nonce that nothing gets in at.
   */
  noop(slot: Slot): FeeCeiling
  /** Its newest transaction was bumped as often as one may be. */
  bumpedOut(slot: Slot): boolean
}

export function createCeilings(
  {
    fees,
    session,
    transactions,
  }: {
    readonly fees: FeeOracle
    readonly session: LaneSession
    readonly transactions: Map<string, Transaction>
  },
  waiting: () => Transaction | undefined,
): Ceilings {
  const { rule } = fees

  function namedAt(slot: Slot | undefined): Fees[] {
    const named: Fees[] = []
    for (const { claim } of slot?.attempts ?? []) {
      const transaction = claim === undefined ? undefined : transactions.get(claim)
      if (transaction === undefined) continue
      for (const own of [explicitFees(transaction.request), transaction.callerBumpFees])
        if (own) named.push(own)
    }
    return named
  }

  return {
    transaction(transaction, slot) {
      const own = session.settings.ownCeiling(transaction)
      const usual = ceilingAbove(namedAt(slot), transactionCeiling(fees.laneCeiling(), rule), rule)
      return own !== undefined && own < usual.maxFeePerGas ? { maxFeePerGas: own } : usual
    },
    noop({ attempts }) {
      const offered = attempts.filter(({ claim }) => claim !== undefined).map((attempt) => attempt.fees)
      const next = waiting()
      const named = next && explicitFees(next.request)
      return ceilingAbove(named ? [...offered, named] : offered, fees.laneCeiling(), rule)
    },
    bumpedOut(slot) {
      const claim = newestAttempt(slot)?.claim
      return claim !== undefined && slot.attempts.filter((own) => own.claim === claim).length > fees.bumpsMax
    },
  }
}
