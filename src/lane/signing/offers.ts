import {
  ceilingAbove,
  type FeeCeiling,
  type FeeNeeds,
  type Fees,
  highest,
  outbid,
  transactionCeiling,
} from '../../ledger/fees.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import { type Live, newestAttempt, type Slot } from '../../ledger/slot.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Transaction } from '../transaction/transaction.js'
import type { AboveCeiling } from '../transaction/txError.js'
import { explicitFees } from './cost.js'
import type { FeeOracle } from './feeOracle.js'

type OfferOptions = {
  /** The minimum to offer. */
  readonly market: Fees
  readonly ceiling: FeeCeiling
  readonly replacementRejections?: number
  /** If given, the effective price rises too (see `BumpRule`). */
  readonly baseFee?: bigint | undefined
}

/** Computes the fees that replace the attempts at a nonce. */
export type Offers = {
  /** Fees that replace each of the slot's attempts in a pool; undefined if they exceed the ceiling. */
  above(slot: Slot, options: OfferOptions): Fees | undefined
  /**
   * A pool stated the minimum for a replacement at this nonce. The next bytes signed there offer at least
   * that.
   */
  needed(nonce: number, needs: FeeNeeds): void
  /** Bytes with such an offer are journaled, so the stated minimum is forgotten. */
  made(nonce: number): void
  /**
   * `atCeiling`: the newest attempt of this slot cannot be outbid within its ceiling. `fillable`: a no-op
   * could outbid it. `aboveCeiling`: the node states a minimum above that ceiling.
   */
  ceilings(slot: Live): { atCeiling: boolean; fillable: boolean; aboveCeiling: AboveCeiling | undefined }
  /**
   * The minimum of the node for a transaction without a nonce, if it is confirmed to be above the
   * transaction's ceiling.
   */
  aboveCeiling(transaction: Transaction): AboveCeiling | undefined
}

export function createOffers(
  { fees, transactions }: { readonly fees: FeeOracle; readonly transactions: Map<string, Transaction> },
  ceilings: Ceilings,
): Offers {
  const needs = new NonceMap<FeeNeeds>()

  function above({ nonce, attempts }: Slot, options: OfferOptions): Fees | undefined {
    const { market, ceiling, replacementRejections = 0, baseFee } = options
    const stated = needs.get(nonce)
    return outbid(
      attempts.map((attempt) => attempt.fees),
      {
        rule: { ...fees.rule, replacementRejections, baseFee },
        market: stated ? atLeast(market, stated) : market,
        ceiling,
      },
    )
  }

  return {
    above,
    needed: (nonce, stated) => void needs.set(nonce, stated),
    made: (nonce) => void needs.delete(nonce),
    ceilings(slot) {
      const newest = newestAttempt(slot)
      if (newest === undefined) return { atCeiling: false, fillable: true, aboveCeiling: undefined }
      const transaction = newest.claim === undefined ? undefined : transactions.get(newest.claim)
      const noops = ceilings.noop(slot)
      const ceiling = transaction ? ceilings.transaction(transaction, slot) : noops
      // Uses the same computation as bumps and no-ops. If they differed, a bump could be requested and never
      // happen.
      const within = (most: FeeCeiling) => above(slot, { market: newest.fees, ceiling: most }) !== undefined
      const aboveCeiling = aboveCeilingOf(fees.beyond(ceiling), ceiling)
      const atCeiling = ceilings.bumpedOut(slot) || !within(ceiling) || aboveCeiling !== undefined
      const reached = noops.maxFeePerGas >= (fees.baseFee() ?? 0n) && fees.beyond(noops) === undefined
      return { atCeiling, fillable: within(noops) && reached, aboveCeiling }
    },
    aboveCeiling(transaction) {
      // Fees that the caller set are offered regardless of known minimums.
      if (explicitFees(transaction.request) ?? transaction.callerBumpFees) return undefined
      const ceiling = ceilings.transaction(transaction, undefined)
      return aboveCeilingOf(fees.hopeless(ceiling), ceiling)
    },
  }
}

function aboveCeilingOf(
  neededWei: bigint | undefined,
  { maxFeePerGas }: FeeCeiling,
): AboveCeiling | undefined {
  return neededWei === undefined ? undefined : { neededWei, ceilingWei: maxFeePerGas }
}

function atLeast(market: Fees, { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: FeeNeeds): Fees {
  if ('gasPrice' in market) return highest(market, { gasPrice: maxFeePerGas })
  return highest(market, { maxFeePerGas, maxPriorityFeePerGas })
}

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
