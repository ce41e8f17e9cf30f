import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import { capped, type FeeCeiling, type Fees, feeCap } from '../../ledger/fees.js'
import type { TxRequest } from '../../types/index.js'
import { tuplesOf } from '../transaction/authorize.js'
import { takeRequestedBump } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import type { Ceilings } from './ceilings.js'
import { explicitFees } from './explicitFees.js'
import type { FeeOracle } from './feeOracle.js'
import type { JobOf, SignOrder } from './job.js'
import type { Offers } from './offers.js'

export type ClaimOrdersContext = {
  readonly lane: Pick<Lane, 'book'>
  readonly fees: Pick<FeeOracle, 'market'>
  readonly transactions: ReadonlyMap<string, Transaction>
}

/**
 * Returns the function that prices the first attempt of a claim. Undefined if there is nothing to sign any
 * more.
 */
export function createClaimOrders(
  { lane, fees, transactions }: ClaimOrdersContext,
  ceilings: Pick<Ceilings, 'transaction'>,
  offers: Pick<Offers, 'above'>,
): (job: JobOf<'claim'>) => SignOrder | undefined | Promise<SignOrder> {
  const { book } = lane

  async function atMarket(nonce: number, transaction: Transaction): Promise<SignOrder> {
    const ceiling = ceilings.transaction(transaction, book.get(nonce))
    const market = await fees.market(ceiling, transaction.record.feePreset)
    return orderOf(nonce, transaction, inTypeOf(transaction.request, capped(market, ceiling)))
  }

  function orderOf(nonce: number, transaction: Transaction, first: Fees): SignOrder {
    const { request } = transaction
    const gas = transaction.record.gas ?? request.gas
    if (gas === undefined) throw new Error('gas is not known')
    const slot = book.get(nonce)
    const content = { request, gas }
    if (slot === undefined || slot.attempts.length === 0)
      return { claim: transaction.id, content, offer: first }
    const ceiling = ceilings.transaction(transaction, slot)
    // The attempts at a freed nonce were refused for good (row 14). Outbidding them is a precaution, if it
    // can be paid.
    const offer =
      offers.above(slot, { market: first, ceiling: atLeast(ceiling, first) }) ??
      (slot.state === 'reserved' ? first : undefined)
    if (offer === undefined) throw overCeiling(transaction, ceiling)
    return { claim: transaction.id, content, offer }
  }

  return ({ nonce, claim }) => {
    const transaction = transactions.get(claim)
    if (transaction === undefined) return undefined
    // Fees that the caller has set since then take precedence (row 19, for a transaction that the lane had
    // given up).
    const given = takeRequestedBump(transaction)?.fees ?? explicitFees(transaction.request)
    return given ? orderOf(nonce, transaction, given) : atMarket(nonce, transaction)
  }
}

/** The fees in the form of the requested type. A type without a fee cap pays the cap as its gas price. */
function inTypeOf(request: TxRequest, market: Fees): Fees {
  const { type } = request as { type?: string | undefined }
  // EIP-7702 has no gas price: it becomes both fees.
  if (tuplesOf(request).length > 0 && 'gasPrice' in market)
    return { maxFeePerGas: market.gasPrice, maxPriorityFeePerGas: market.gasPrice }
  return type === 'legacy' || type === 'eip2930' ? { gasPrice: feeCap(market) } : market
}

/** Fees that the caller set for a first attempt may exceed the ceiling of automatic bumps. */
function atLeast(ceiling: FeeCeiling, fees: Fees): FeeCeiling {
  const cap = feeCap(fees)
  return cap > ceiling.maxFeePerGas ? { maxFeePerGas: cap } : ceiling
}

function overCeiling(transaction: Transaction, { maxFeePerGas }: FeeCeiling): TxlaneError {
  const message = `Replacing the transaction at nonce ${transaction.nonce} takes more than the fee ceiling of ${maxFeePerGas} wei.`
  return txError(transaction, 'REJECTED', 'notExecuted', message)
}
