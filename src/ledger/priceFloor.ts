import { type FeeNeeds, type Fees, feeCap } from './fees.js'

/** The least of one fee that a node was seen to take, in wei, for a bounded time. */
type Bound = {
  readonly wei: bigint
  /** The node named the number as its minimum. A base fee, and what was only inferred, may pass by itself. */
  readonly stated: boolean
  readonly untilMs: number
}

/**
 * What refusals taught about the least fees of a node. It holds for every nonce of the lane at once, expires, and comes
 * down when the node accepts less.
 */
export type PriceFloor = { readonly tip: Bound | undefined; readonly cap: Bound | undefined }

export const NO_FLOOR: PriceFloor = { tip: undefined, cap: undefined }

/** A minimum of a node's configuration rarely changes: asked anew that often, it costs one refusal. */
const STATED_KEPT_MS = 600_000
/** A crowded pool, or the base fee, may be another one soon. */
const INFERRED_KEPT_MS = 60_000

type Refusal = {
  readonly offered: Fees
  readonly needs: FeeNeeds | undefined
  /** Of the newest block, where the chain has one. */
  readonly baseFee: bigint | undefined
  readonly nowMs: number
}

/** The floor after a refusal for the fees. A number is believed as far as it explains the refusal. */
export function raisedBy(floor: PriceFloor, refusal: Refusal): PriceFloor {
  const { offered, needs, nowMs } = refusal
  const known = current(floor, nowMs)
  const stated = statedBounds(needs, nowMs)
  const explains = exceeds(stated.tip, tipOf(offered)) || exceeds(stated.cap, feeCap(offered))
  // Half as much again: a node whose least tip is 2.5 times what it suggests takes the third offer.
  const { tip, cap } = explains ? stated : inferredBounds(refusal)
  return { tip: higher(known.tip, tip), cap: higher(known.cap, cap) }
}

/** The floor after the node took these fees: it is not above them. */
export function loweredBy(floor: PriceFloor, taken: Fees): PriceFloor {
  const { tip, cap } = floor
  return { tip: atMost(tip, tipOf(taken)), cap: atMost(cap, feeCap(taken)) }
}

/** `fees`, raised to the floor where they are below it. */
export function atFloor(fees: Fees, floor: PriceFloor, nowMs: number): Fees {
  const { tip, cap } = current(floor, nowMs)
  const least = { tip: tip?.wei ?? 0n, cap: cap?.wei ?? 0n }
  if ('gasPrice' in fees) return { gasPrice: max(fees.gasPrice, max(least.tip, least.cap)) }
  const raised = max(fees.maxPriorityFeePerGas, least.tip)
  // What the tip rises by, the cap rises by: the room for the base fee stays.
  const above = fees.maxFeePerGas + raised - fees.maxPriorityFeePerGas
  return { maxFeePerGas: max(above, least.cap), maxPriorityFeePerGas: raised }
}

/**
 * The least fee cap that the node named as its minimum, in wei, where it is above `ceiling`: no bump within the ceiling
 * can be taken. Undefined where one can, and for what may pass by itself.
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

/** Without a number both fees may be what is too low, unless the base fee explains it. */
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

/** The higher of the two; of equals the later, which is kept longer. */
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
