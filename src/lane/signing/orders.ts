import type { Hex } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import { capped, type FeeCeiling, type Fees, feeCap } from '../../ledger/fees.js'
import { newestAttempt } from '../../ledger/slot.js'
import type { Limits, Tx, TxRequest } from '../../types/index.js'
import { isOutsideId } from '../../validate/stageOrder.js'
import type { Emitter } from '../emitter.js'
import type { GasEstimator } from '../gas/gas.js'
import { tuplesOf } from '../transaction/authorize.js'
import { takeRequestedBump } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { explicitFees } from './cost.js'
import type { Content } from './envelope.js'
import type { FeeOracle } from './feeOracle.js'
import type { Ceilings, Offers } from './offers.js'

export type JobKind = 'claim' | 'noop' | 'bump'

/** A signature that the table has requested. */
export type Job = {
  readonly kind: JobKind
  readonly nonce: number
  readonly token: number
  /** The signature is done. */
  isSigned: boolean
} & (
  | { readonly kind: 'claim'; readonly claim: string }
  | { readonly kind: 'noop' }
  | { readonly kind: 'bump'; readonly replacementRejections: number }
)

type JobOf<kind extends JobKind> = Extract<Job, { kind: kind }>

/** The content and fees to sign, for a transaction or a no-op. */
export type SignOrder = {
  readonly claim: string | undefined
  readonly content: Content
  readonly offer: Fees
}

export type OrdersContext = {
  readonly lane: Lane
  readonly fees: Pick<FeeOracle, 'market' | 'baseFee'>
  readonly limits: Pick<Limits, 'fillsMax'>
  readonly transactions: ReadonlyMap<string, Transaction>
  readonly events: Emitter
  txOf(transaction: Transaction): Tx
  blockedAt: number
}

/** Prices the signatures that the table requests: first attempts, bumps and no-ops. */
export type Orders = {
  /** Undefined if there is nothing to sign any more, or the price exceeds the ceiling. */
  of(job: Job): SignOrder | undefined | Promise<SignOrder | undefined>
  /** A job that was ordered is over. */
  over(job: Job): void
  /** The account's code has changed: the gas of a self-transfer is estimated again. */
  codeChanged(): void
}

export function createOrders(
  context: OrdersContext,
  ceilings: Ceilings,
  offers: Pick<Offers, 'above'>,
  estimator: Pick<GasEstimator, 'estimate'>,
): Orders {
  const claimOrder = createClaimOrders(context, ceilings, offers)
  const bumpOrder = createBumpOrders(context, ceilings, offers)
  const noops = createNoopOrders(context, ceilings, offers, estimator)

  return {
    of(job) {
      switch (job.kind) {
        case 'claim':
          return claimOrder(job)
        case 'noop':
          return noops.order(job)
        case 'bump':
          return bumpOrder(job)
        default:
          return job satisfies never
      }
    },
    over({ kind }) {
      if (kind === 'noop') noops.over()
    },
    codeChanged: noops.codeChanged,
  }
}

/**
 * Returns the function that prices the first attempt of a claim. Undefined if there is nothing to sign any
 * more.
 */
function createClaimOrders(
  { lane, fees, transactions }: OrdersContext,
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

/**
 * Returns the function that prices a bump. Resolves to undefined if there is nothing to bump any more, or the
 * bump exceeds the ceiling.
 */
function createBumpOrders(
  context: OrdersContext,
  ceilings: Ceilings,
  offers: Pick<Offers, 'above'>,
): (job: JobOf<'bump'>) => Promise<SignOrder | undefined> {
  const { lane, fees, transactions, events } = context

  return async ({ nonce, replacementRejections }) => {
    const slot = lane.book.get(nonce)
    if (slot?.state !== 'live') return undefined
    const newest = newestAttempt(slot)
    const transaction = newest?.claim === undefined ? undefined : transactions.get(newest.claim)
    if (newest === undefined || (newest.claim !== undefined && (!transaction || isOutsideId(newest.claim))))
      return undefined
    const ceiling = transaction ? ceilings.transaction(transaction, slot) : ceilings.noop(slot)
    const requested = transaction && takeRequestedBump(transaction)
    const given = requested?.fees
    const offer = offers.above(slot, {
      market: given ?? (await fees.market(ceiling, transaction?.record.feePreset)),
      ceiling,
      replacementRejections,
      // Fees that a caller set are offered unchanged, unless the pool refused them.
      baseFee: given === undefined || replacementRejections > 0 ? fees.baseFee() : undefined,
    })
    // The limit of automatic bumps does not apply to bumps by the caller.
    if (offer === undefined || (requested === undefined && ceilings.bumpedOut(slot))) {
      if (transaction) events.emit('feeCeiling', { tx: context.txOf(transaction) })
      else block(context, nonce)
      return undefined
    }
    const request = transaction?.request ?? noopRequest(lane.key.address)
    return { claim: newest.claim, content: { request, gas: newest.gas }, offer }
  }
}

/** Prices no-ops, for a bounded number of nonces at a time. */
type NoopOrders = {
  /** Resolves to undefined if there is nothing to sign any more, or the no-op is too expensive. */
  order(job: JobOf<'noop'>): Promise<SignOrder | undefined>
  /** A job that was ordered is over. */
  over(): void
  /** The account's code has changed: the gas of a self-transfer is estimated again. */
  codeChanged(): void
}

// A self-transfer costs 21,000 gas (yellow paper, G_transaction), and more if the account has code. So it is
// estimated; this is the fallback.
const GAS_FALLBACK = 100_000n

function createNoopOrders(
  context: OrdersContext,
  ceilings: Pick<Ceilings, 'noop'>,
  offers: Pick<Offers, 'above'>,
  estimator: Pick<GasEstimator, 'estimate'>,
): NoopOrders {
  const { lane, fees, limits } = context
  const waiting: (() => void)[] = []
  let openCount = 0
  let gas: Promise<bigint> | undefined

  /** Estimated once: the gas of a self-transfer depends on the account's code, which changes rarely. */
  function estimateGas(): Promise<bigint> {
    gas ??= askGas().catch(() => {
      gas = undefined
      return GAS_FALLBACK
    })
    return gas
  }

  async function askGas(): Promise<bigint> {
    const { address } = lane.key
    const estimate = await estimator.estimate(noopRequest(address), address)
    if (estimate.kind !== 'gas') throw estimate.cause
    return estimate.gas
  }

  /**
   * Waits for one of the `fillsMax` places: a broken lane must not empty the account on no-ops before an
   * operator looks (P9).
   */
  async function enter(): Promise<void> {
    if (openCount < limits.fillsMax) openCount++
    else await new Promise<void>((resolve) => waiting.push(resolve))
  }

  return {
    async order({ nonce }) {
      await enter()
      const slot = lane.book.get(nonce)
      if (slot?.state !== 'live') return undefined
      const ceiling = ceilings.noop(slot)
      const market = await fees.market(ceiling)
      const offer = offers.above(slot, { market, ceiling, baseFee: fees.baseFee() })
      if (offer === undefined) return void block(context, nonce)
      const content = { request: noopRequest(lane.key.address), gas: await estimateGas() }
      return { claim: undefined, content, offer }
    },
    over() {
      // Passes the place on, or frees it.
      const next = waiting.shift()
      if (next) next()
      else openCount--
    },
    codeChanged() {
      gas = undefined
    },
  }
}

function noopRequest(address: Hex): TxRequest {
  return { to: address, value: 0n } as TxRequest
}

/**
 * Holds the lane, because the no-op for a nonce cannot be paid for, or cannot outbid the transaction at that
 * nonce within the ceiling of the lane. No higher nonce is reserved. The lane tries again when the nonce is
 * stuck the next time.
 */
export function block(
  context: { readonly lane: Lane; blockedAt: number },
  nonce: number,
  detail?: string,
): void {
  context.blockedAt = Math.max(context.blockedAt, nonce)
  context.lane.holds.add('blocked', detail)
}
