/** The fees of an envelope, in wei: a dynamic-fee pair or a legacy gas price. */
export type Fees =
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
  | { readonly gasPrice: bigint }

/** The maximum fees that may be offered. A field left out is not bounded. */
export type FeeCeiling = { readonly maxFeePerGas: bigint }

/** The minimum fees that a node stated, in wei. A field left out was not stated. */
export type FeeNeeds = {
  readonly maxPriorityFeePerGas?: bigint
  readonly maxFeePerGas?: bigint
  /** The stated base fee, which the offered fee cap does not reach. */
  readonly baseFeePerGas?: bigint
}

export type BumpRule = {
  /** Percent by which both fees must rise. geth and reth: 10 (legacypool `PriceBump`). @default 10 */
  readonly percent: number
  /**
   * How many times the pool has called our own replacement underpriced. The step grows by `percent` for each
   * of them.
   */
  readonly replacementRejections?: number
  /**
   * Base fee of the newest block, in wei. If it is given, the effective price rises by as much as both fees.
   * Besu requires that (TransactionReplacementByFeeMarketRule): without it, bumping a tip of 1 above a base
   * fee of 100 has no effect there.
   */
  readonly baseFee?: bigint | undefined
}

// One percent above the node's rule: a node that rounds up where this code rounds down still accepts the
// replacement.
const MARGIN_PERCENT = 1n

const isLegacy = (fees: Fees): fees is { readonly gasPrice: bigint } => 'gasPrice' in fees

/** The maximum cost of one unit of gas under these fees, in wei. */
export function feeCap(fees: Fees): bigint {
  return isLegacy(fees) ? fees.gasPrice : fees.maxFeePerGas
}

/**
 * The part of the price that the block's builder receives at this base fee, in wei. It is negative if the
 * fees do not cover the base fee.
 */
export function effectiveTip(fees: Fees, baseFeePerGas: bigint): bigint {
  const room = feeCap(fees) - baseFeePerGas
  if (isLegacy(fees)) return room
  return atMost(room, fees.maxPriorityFeePerGas)
}

/** `old` raised by the rule and rounded up, always by at least one wei: a tip of zero must rise too. */
export function bumpFee(old: bigint, rule: BumpRule): bigint {
  const percent = BigInt(rule.percent) * BigInt(1 + (rule.replacementRejections ?? 0)) + MARGIN_PERCENT
  return (old * (100n + percent) + 99n) / 100n + 1n
}

/**
 * Fees that replace `old` in a pool: both are raised by the rule, and are at least the market's. Undefined if
 * the step of the rule itself exceeds the ceiling. Rejected replacements and the market raise the fees only up to the
 * ceiling.
 */
export function replacementFees(
  old: Fees,
  options: { rule: BumpRule; market?: Fees | undefined; ceiling: FeeCeiling },
): Fees | undefined {
  const { rule, market, ceiling } = options
  const least = raised(old, { percent: rule.percent })
  if (dearest(least) > ceiling.maxFeePerGas) return undefined
  const wanted = raised(old, rule)
  return capped(market ? highest(wanted, matching(old, market)) : wanted, ceiling)
}

function raised(old: Fees, rule: BumpRule): Fees {
  if (isLegacy(old)) return { gasPrice: bumpFee(old.gasPrice, rule) }
  const tip = max(bumpFee(old.maxPriorityFeePerGas, rule), tipForPrice(old, rule))
  return { maxFeePerGas: max(bumpFee(old.maxFeePerGas, rule), tip), maxPriorityFeePerGas: tip }
}

/**
 * The tip that raises the effective price of `old` by the rule, for every possible base fee of the next
 * block. That base fee is at most an eighth higher (EIP-1559). A higher base fee requires a higher tip, up to
 * the base fee at which the fee cap limits the price.
 */
function tipForPrice(old: Exclude<Fees, { gasPrice: bigint }>, rule: BumpRule): bigint {
  if (rule.baseFee === undefined) return 0n
  const { maxFeePerGas: cap, maxPriorityFeePerGas: tip } = old
  const baseFee = atMost((rule.baseFee * 9n + 7n) / 8n, cap - tip)
  return bumpFee(baseFee + tip, rule) - baseFee
}

/** A market that only knows a gas price gives no tip. */
function matching(old: Fees, market: Fees): Fees {
  if (isLegacy(old) || !isLegacy(market)) return market
  return { maxFeePerGas: market.gasPrice, maxPriorityFeePerGas: 0n }
}

const dearest = (fees: Fees): bigint =>
  isLegacy(fees) ? fees.gasPrice : max(fees.maxFeePerGas, fees.maxPriorityFeePerGas)

/** Fees that are at least `fees`, and enough to replace every one of `attempts` in a pool. */
export function outbid(
  attempts: readonly Fees[],
  options: { rule: BumpRule; market: Fees; ceiling: FeeCeiling },
): Fees | undefined {
  const [first, ...rest] = attempts
  if (first === undefined) return capped(options.market, options.ceiling)
  return replacementFees(rest.reduce(highest, first), options)
}

/** The higher of the two for each fee. */
export function highest(a: Fees, b: Fees): Fees {
  if (isLegacy(a) || isLegacy(b)) return { gasPrice: max(feeCap(a), feeCap(b)) }
  return {
    maxFeePerGas: max(a.maxFeePerGas, b.maxFeePerGas),
    maxPriorityFeePerGas: max(a.maxPriorityFeePerGas, b.maxPriorityFeePerGas),
  }
}

/** `fees` cut to the ceiling. */
export function capped(fees: Fees, ceiling: FeeCeiling): Fees {
  const limit = ceiling.maxFeePerGas
  if (isLegacy(fees)) return { gasPrice: atMost(fees.gasPrice, limit) }
  const maxFeePerGas = atMost(fees.maxFeePerGas, limit)
  return { maxFeePerGas, maxPriorityFeePerGas: atMost(fees.maxPriorityFeePerGas, maxFeePerGas) }
}

/**
 * The ceiling for transactions: two bump steps below the lane's ceiling. The steps are reserved for no-ops.
 */
export function transactionCeiling(lane: FeeCeiling, rule: BumpRule): FeeCeiling {
  const step = 100n + BigInt(rule.percent) + MARGIN_PERCENT
  // Each step also rounds up and adds a wei: four wei keep both inside the ceiling.
  const limit = (lane.maxFeePerGas * 100n * 100n) / (step * step) - 4n
  return { maxFeePerGas: max(limit, 1n) }
}

/**
 * This ceiling, or two bump steps above the highest of these fees if that is more. Otherwise no attempt could
 * replace or end a transaction that a pool holds and does not include.
 */
export function ceilingAbove(offered: readonly Fees[], ceiling: FeeCeiling, rule: BumpRule): FeeCeiling {
  const limits = offered.map((fees) => bumpFee(bumpFee(dearest(fees), rule), rule))
  return { maxFeePerGas: limits.reduce(max, ceiling.maxFeePerGas) }
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const atMost = (value: bigint, limit: bigint): bigint => (value < limit ? value : limit)
