import type { CountReading } from './evidence.js'

/**
 * Search for the block that used a nonce. It narrows down to one of two ends: two neighbouring blocks whose
 * counts lie on both sides of the nonce, or the edge of the state that the node still serves.
 */
export type Search = {
  readonly nonce: number
  /** A block believed not to have passed the nonce. It is only a belief, so its count is read as well. */
  readonly from: number
  /** The highest block known not to have passed the nonce. */
  readonly low: number | undefined
  /** The highest block whose count the node refuses. */
  readonly refused: number | undefined
  /** The lowest block known to have passed the nonce. */
  readonly high: number
  /** How far below `high` the next step down reaches if no lower block is known. */
  readonly reach: number
}

/** @param high a block known to have passed the nonce */
export function createSearch(nonce: number, from: number, high: number, refused?: number): Search {
  return { nonce, from, low: undefined, refused, high, reach: 1 }
}

/**
 * The blocks whose counts to read next, ascending, at most `countsMax`. The list is empty once the search has
 * ended.
 */
export function nextCounts(search: Search, countsMax: number): readonly number[] {
  const { low, refused, from, high, reach } = search
  if (low !== undefined || refused !== undefined) return between(floorOf(search), high, countsMax)
  if (from < high) return [from, ...between(from, high, countsMax - 1)]
  // The belief was wrong and no lower block is known: each step goes twice as far down.
  const steps = Array.from({ length: countsMax }, (_, step) => Math.max(0, high - reach * 2 ** step))
  return [...new Set(steps)].filter((number) => number < high).reverse()
}

/**
 * The search narrowed by the requested counts, in their order. Undefined if the counts contradict each other.
 */
export function narrow(
  search: Search,
  asked: readonly number[],
  counts: readonly CountReading[],
): Search | undefined {
  let { low, refused, high } = search
  for (const [index, number] of asked.entries()) {
    const count = counts[index]
    if (count === undefined) return undefined
    if (count === 'refused') refused = Math.max(refused ?? 0, number)
    else if (count <= search.nonce) low = Math.max(low ?? 0, number)
    else high = Math.min(high, number)
  }
  // Counts never decrease along a chain, and a node that serves the state of one block serves all later ones.
  if ((low ?? -1) >= high) return undefined
  if ((refused ?? -1) >= high) return undefined
  const reach = search.from < search.high ? 1 : search.reach * 2 ** asked.length
  return { ...search, low, refused, high, reach }
}

export type SearchEnd =
  /** The nonce was used in this block and not before it. */
  | { readonly kind: 'block'; readonly number: number }
  /**
   * The node serves no state for the range of the use. One of these bodies may contain it; the likeliest run
   * comes first.
   */
  | { readonly kind: 'bodies'; readonly runs: readonly BodyRun[]; readonly refused: number }
  /** The genesis block gave the account this count. */
  | { readonly kind: 'genesis' }

/** Bodies to read one after the other, until one contains a nonce of the account from beyond the use. */
export type BodyRun = { readonly numbers: readonly number[]; readonly passedBy: 'above' | 'below' }

/** The result of a search that has no more counts to read. */
export function endOf(search: Search, bodiesMax: number): SearchEnd {
  const { refused, high } = search
  if (refused !== undefined && refused === high - 1)
    return { kind: 'bodies', refused, runs: runsOf(search, bodiesMax) }
  return high === 0 ? { kind: 'genesis' } : { kind: 'block', number: high }
}

/**
 * An attempt is sent right after it was journaled, so its block is likely soon after the block recorded at
 * that time. It is only a belief that the use is not before that block, unless a count was read there.
 */
function runsOf({ low, from, high }: Search, bodiesMax: number): readonly BodyRun[] {
  const above = low ?? Math.min(from, high)
  const up = upwards(above + 1, Math.min(high - above, bodiesMax))
  const down = low === undefined ? upwards(0, Math.min(above + 1, bodiesMax)) : []
  return [
    { numbers: up, passedBy: 'above' } as const,
    { numbers: down.map((step) => above - step), passedBy: 'below' } as const,
  ].filter(({ numbers }) => numbers.length > 0)
}

/** That many numbers from `first` on; none for a negative length. */
export function upwards(first: number, length: number): readonly number[] {
  return Array.from({ length }, (_, index) => first + index)
}

function floorOf({ low, refused }: Search): number {
  return Math.max(low ?? -1, refused ?? -1)
}

/** Numbers strictly between two others, evenly spread; all of them if they are few enough. */
function between(floor: number, high: number, countsMax: number): readonly number[] {
  const inside = high - floor - 1
  const length = Math.min(inside, Math.max(1, countsMax))
  return Array.from({ length }, (_, index) => floor + Math.ceil(((index + 1) * (inside + 1)) / (length + 1)))
}
