import { type FeeCeiling, type FeeNeeds, type Fees, highest, outbid } from '../../ledger/fees.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import { type Live, newestAttempt, type Slot } from '../../ledger/slot.js'
import type { AboveCeiling } from '../transaction/dear.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Ceilings } from './ceilings.js'
import { explicitFees } from './explicitFees.js'
import type { FeeOracle } from './feeOracle.js'

export type OfferOptions = {
  /** The least to offer. */
  readonly market: Fees
  readonly ceiling: FeeCeiling
  readonly underbids?: number
  /** Given, the effective price rises as well (see `BumpRule`). */
  readonly baseFee?: bigint | undefined
}

/** What is offered in place of the attempts of a nonce. */
export type Offers = {
  /** What replaces each of the slot's attempts in a pool; undefined where that passes the ceiling. */
  above(slot: Slot, options: OfferOptions): Fees | undefined
  /** A pool named what it takes at this nonce as a replacement: the next bytes signed there offer that at least. */
  needed(nonce: number, needs: FeeNeeds): void
  /** Bytes with such an offer are journaled. */
  made(nonce: number): void
  /**
   * Whether the newest attempt of this slot cannot be outbid within its ceiling; and whether a no-op could be. `dear`: the
   * node names a minimum above that ceiling.
   */
  ceilings(slot: Live): { atCeiling: boolean; fillable: boolean; aboveCeiling: AboveCeiling | undefined }
  /** What the node asks for one that has no nonce yet, where that was confirmed to be above its ceiling. */
  dear(transaction: Transaction): AboveCeiling | undefined
}

export function createOffers(
  { fees, transactions }: { readonly fees: FeeOracle; readonly transactions: Map<string, Transaction> },
  ceilings: Ceilings,
): Offers {
  const needs = new NonceMap<FeeNeeds>()

  function above({ nonce, attempts }: Slot, options: OfferOptions): Fees | undefined {
    const { market, ceiling, underbids = 0, baseFee } = options
    const stated = needs.get(nonce)
    return outbid(
      attempts.map((attempt) => attempt.fees),
      {
        rule: { ...fees.rule, underbids, baseFee },
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
      // Asked of what a bump and a no-op are made with: where the two differ, a bump is asked for and never comes.
      const within = (most: FeeCeiling) => above(slot, { market: newest.fees, ceiling: most }) !== undefined
      const aboveCeiling = dearOf(fees.beyond(ceiling), ceiling)
      const atCeiling = ceilings.bumpedOut(slot) || !within(ceiling) || aboveCeiling !== undefined
      const reached = noops.maxFeePerGas >= (fees.baseFee() ?? 0n) && fees.beyond(noops) === undefined
      return { atCeiling, fillable: within(noops) && reached, aboveCeiling }
    },
    dear(transaction) {
      // What its caller named is offered, whatever is known.
      if (explicitFees(transaction.request) ?? transaction.callerBumpFees) return undefined
      const ceiling = ceilings.transaction(transaction, undefined)
      return dearOf(fees.hopeless(ceiling), ceiling)
    },
  }
}

function dearOf(neededWei: bigint | undefined, { maxFeePerGas }: FeeCeiling): AboveCeiling | undefined {
  return neededWei === undefined ? undefined : { neededWei, ceilingWei: maxFeePerGas }
}

function atLeast(market: Fees, { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: FeeNeeds): Fees {
  if ('gasPrice' in market) return highest(market, { gasPrice: maxFeePerGas })
  return highest(market, { maxFeePerGas, maxPriorityFeePerGas })
}
