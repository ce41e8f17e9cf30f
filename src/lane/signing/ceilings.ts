import { ceilingAbove, type FeeCeiling, type Fees, transactionCeiling } from '../../ledger/fees.js'
import { newestAttempt, type Slot } from '../../ledger/slot.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Transaction } from '../transaction/transaction.js'
import { explicitFees } from './explicitFees.js'
import type { FeeOracle } from './feeOracle.js'

/** The maximum price of a unit of gas at one nonce. */
export type Ceilings = {
  /**
   * The ceiling of the transaction or of its group, if that is the lower one. Otherwise two steps below the
   * lane's ceiling, or two steps above the fees that callers set at this nonce.
   */
  transaction(transaction: Transaction, slot: Slot | undefined): FeeCeiling
  /**
   * The lane's ceiling, or two steps above the offers of transactions at this nonce, or above the fees that
   * the caller of the next queued transaction set: that transaction cannot land above a nonce at which
   * nothing lands.
   */
  noop(slot: Slot): FeeCeiling
  /** Whether the newest transaction at this nonce has had the maximum number of bumps. */
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
      const own = session.settings.ownCeiling(transaction.record)
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
