import { type FeeNeeds, type Fees, feeCap } from './fees.js'

/** The lowest value of one fee that a node was seen to accept, in wei, for a bounded time. */
type Bound = {
  readonly wei: bigint
  /**
   * The node stated the number as its minimum. A base fee, and an inferred minimum, may go down on their own.
   */
  readonly stated: boolean
  readonly untilMs: number
}

/**
 * The minimum fees of a node, as learned from refusals. The floor applies to every nonce of the lane at once,
 * expires, and falls when the node accepts less.
 */
export type PriceFloor = { readonly tip: Bound | undefined; readonly cap: Bound | undefined }

export const NO_FLOOR: PriceFloor = { tip: undefined, cap: undefined }

/** A minimum in a node's configuration rarely changes: one probe per period costs one refusal. */
const STATED_KEPT_MS = 600_000
/** A crowded pool, or the base fee, may change soon. */
const INFERRED_KEPT_MS = 60_000

type Refusal = {
  readonly offered: Fees
  readonly needs: FeeNeeds | undefined
  /** The base fee of the newest block, if the chain has one. */
  readonly baseFee: bigint | undefined
  readonly nowMs: number
}

/** The floor after a refusal of the fees. A stated number is believed only if it explains the refusal. */
export function raisedBy(floor: PriceFloor, refusal: Refusal): PriceFloor {
  const { offered, needs, nowMs } = refusal
  const known = current(floor, nowMs)
  const stated = statedBounds(needs, nowMs)
  const explains = exceeds(stated.tip, tipOf(offered)) || exceeds(stated.cap, feeCap(offered))
  // Half as much again: a node whose minimum tip is 2.5 times its suggestion accepts the third offer.
  const { tip, cap } = explains ? stated : inferredBounds(refusal)
  return { tip: higher(known.tip, tip), cap: higher(known.cap, cap) }
}

/** The floor after the node accepted these fees: it is not above them. */
export function loweredBy(floor: PriceFloor, taken: Fees): PriceFloor {
  const { tip, cap } = floor
  return { tip: atMost(tip, tipOf(taken)), cap: atMost(cap, feeCap(taken)) }
}

/** `fees`, raised to the floor if they are below it. */
export function atFloor(fees: Fees, floor: PriceFloor, nowMs: number): Fees {
  const { tip, cap } = current(floor, nowMs)
  const least = { tip: tip?.wei ?? 0n, cap: cap?.wei ?? 0n }
  if ('gasPrice' in fees) return { gasPrice: max(fees.gasPrice, max(least.tip, least.cap)) }
  const raised = max(fees.maxPriorityFeePerGas, least.tip)
  // The cap rises by the same amount as the tip, so that the room for the base fee stays.
  const above = fees.maxFeePerGas + raised - fees.maxPriorityFeePerGas
  return { maxFeePerGas: max(above, least.cap), maxPriorityFeePerGas: raised }
}

/**
 * The lowest fee cap that the node stated as its minimum, in wei, if it exceeds `ceiling`: then the node
 * accepts no bump within the ceiling. Undefined if it accepts one, and for minimums that may go down on their
 * own.
 */
export function beyond(floor: PriceFloor, ceiling: bigint, nowMs: number): bigint | undefined {
  const { tip, cap } = current(floor, nowMs)
  const named = [tip, cap].filter((bound) => bound?.stated === true).map((bound) => (bound as Bound).wei)
  const least = named.reduce(max, 0n)
  return least > ceiling ? least : undefined
}

function statedBounds(needs: FeeNeeds | undefined, nowMs: number): PriceFloor {
  const { maxPriorityFeePerGas: tip, maxFeePerGas: cap, baseFeePerGas: baseFee } = needs ?? {}
  const stated = (wei: bigint): Bound => ({ wei, stated: true, untilMs: nowMs + STATED_KEPT_MS })
  const room = baseFee === undefined ? undefined : inferred(nextBaseFee(baseFee), nowMs)
  return {
    tip: tip === undefined ? undefined : stated(tip),
    cap: cap === undefined ? room : stated(cap),
  }
}

/** Without a stated number, either fee may be too low, unless the base fee explains the refusal. */
function inferredBounds({ offered, baseFee, nowMs }: Refusal): PriceFloor {
  const more = (wei: bigint): Bound => inferred(wei + wei / 2n + 1n, nowMs)
  const tipMatters = !('gasPrice' in offered) && feeCap(offered) >= nextBaseFee(baseFee ?? 0n)
  return { tip: tipMatters ? more(tipOf(offered)) : undefined, cap: more(feeCap(offered)) }
}

/** Between two blocks the base fee rises by an eighth at most (EIP-1559). */
const nextBaseFee = (baseFee: bigint): bigint => (baseFee * 9n + 7n) / 8n

const inferred = (wei: bigint, nowMs: number): Bound => ({
  wei,
  stated: false,
  untilMs: nowMs + INFERRED_KEPT_MS,
})

function current({ tip, cap }: PriceFloor, nowMs: number): PriceFloor {
  const kept = (bound: Bound | undefined) =>
    bound !== undefined && bound.untilMs > nowMs ? bound : undefined
  return { tip: kept(tip), cap: kept(cap) }
}

/** The higher of the two bounds. If they are equal, the later one, which expires later. */
function higher(known: Bound | undefined, next: Bound | undefined): Bound | undefined {
  if (known === undefined || next === undefined) return next ?? known
  return next.wei >= known.wei ? next : known
}

function atMost(bound: Bound | undefined, wei: bigint): Bound | undefined {
  return bound !== undefined && bound.wei > wei ? { ...bound, wei } : bound
}

const exceeds = (bound: Bound | undefined, wei: bigint): boolean => bound !== undefined && bound.wei > wei
const tipOf = (fees: Fees): bigint => ('gasPrice' in fees ? fees.gasPrice : fees.maxPriorityFeePerGas)
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)
