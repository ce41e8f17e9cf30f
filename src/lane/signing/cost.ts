import { effectiveTip, type Fees, feeCap } from '../../ledger/fees.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import type { Attempt, Slot } from '../../ledger/slot.js'
import type { TxRequest } from '../../types/index.js'
import { openMove } from '../queue/openMove.js'
import { tuplesOf } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'
import type { FeeOracle } from './feeOracle.js'

/** The fees that the request sets, if any: the first attempt offers them. */
export function explicitFees(request: TxRequest): Fees | undefined {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = request as Record<string, bigint | undefined>
  if (gasPrice !== undefined) return { gasPrice }
  if (maxFeePerGas === undefined) return undefined
  const tip = maxPriorityFeePerGas ?? maxFeePerGas
  return sameAsBefore({ maxFeePerGas, maxPriorityFeePerGas: tip < maxFeePerGas ? tip : maxFeePerGas })
}

type CappedFees = Extract<Fees, { maxFeePerGas: bigint }>
let before: CappedFees | undefined

/** Returns the previous object for equal fees, since most transactions of a burst have the same fees. */
function sameAsBefore(fees: CappedFees): CappedFees {
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  if (before?.maxFeePerGas !== maxFeePerGas || before.maxPriorityFeePerGas !== maxPriorityFeePerGas)
    before = fees
  return before
}

type CostContext = {
  readonly fees: FeeOracle
}

// Upper bound for a signed envelope without its calldata: the RLP of the fields and the signature.
export const ENVELOPE_BYTES = 180
// One EIP-7702 tuple: chain id, address, nonce and signature.
const TUPLE_BYTES = 110

/**
 * Maximum cost of the transaction's first attempt, in wei: value, gas at its fee cap, and the OP stack's data
 * fee.
 */
export function attemptCostBound(context: CostContext, transaction: Transaction): bigint {
  return (transaction.request.value ?? 0n) + attemptFeesBound(context, transaction)
}

/** The same without the value, in wei. */
export function attemptFeesBound(context: CostContext, transaction: Transaction): bigint {
  const { request } = transaction
  const fees = explicitFees(request) ?? context.fees.last(transaction.record.feePreset)
  const cap = fees === undefined ? 0n : feeCap(fees)
  const gas = transaction.record.gas ?? request.gas ?? 0n
  const bytes = ENVELOPE_BYTES + TUPLE_BYTES * tuplesOf(request).length + (request.data?.length ?? 2) / 2
  return gas * cap + context.fees.dataFee(Math.ceil(bytes))
}

/** Maximum cost of this attempt, in wei: the amount that a node compares with the balance. */
export function attemptCost(
  context: { readonly transactions: ReadonlyMap<string, Transaction>; readonly fees: FeeOracle },
  attempt: Attempt,
): bigint {
  const transaction = attempt.claim === undefined ? undefined : context.transactions.get(attempt.claim)
  return (transaction?.request.value ?? 0n) + attemptFees(context, attempt)
}

/** The same without the value, in wei. With `baseFee`: the price in a block with this base fee. */
export function attemptFees(
  context: { readonly fees: FeeOracle },
  { fees, gas, raw }: Attempt,
  baseFee?: bigint,
): bigint {
  const cap = feeCap(fees)
  const price = baseFee === undefined ? cap : baseFee + effectiveTip(fees, baseFee)
  return gas * price + context.fees.dataFee(raw.length / 2)
}

/** The maximum cost of each open nonce, in wei. */
type OpenCosts = {
  /** The sum over all open nonces. */
  readonly totalWei: bigint
  at(nonce: number): bigint
  /** A nonce was reserved for a transaction with this maximum cost. */
  reserved(nonce: number, costWei: bigint): void
  /** A slot changed. Returns the cost that no longer counts if the slot is not open any more, else 0. */
  moved(nonce: number, before: Slot | undefined, after: Slot): bigint
}

/** The highest of the costs of these attempts, in wei; 0 without attempts. */
export function mostOf(attempts: readonly Attempt[], costOf: (attempt: Attempt) => bigint): bigint {
  let most = 0n
  for (const attempt of attempts) {
    const cost = costOf(attempt)
    if (cost > most) most = cost
  }
  return most
}

export function createOpenCosts(costOf: (attempt: Attempt) => bigint): OpenCosts {
  const costs = new NonceMap<bigint>()
  let totalWei = 0n

  function set(nonce: number, costWei: bigint): void {
    totalWei += costWei - (costs.get(nonce) ?? 0n)
    if (costWei === 0n) costs.delete(nonce)
    else costs.set(nonce, costWei)
  }

  return {
    get totalWei() {
      return totalWei
    },
    at: (nonce) => costs.get(nonce) ?? 0n,
    reserved: set,
    moved(nonce, before, after) {
      const move = openMove(before, after)
      if (move === 'same') return 0n
      if (move === 'attempts') {
        set(nonce, mostOf(after.attempts, costOf))
        return 0n
      }
      const cost = costs.get(nonce)
      if (cost === undefined) return 0n
      set(nonce, 0n)
      return cost
    },
  }
}
