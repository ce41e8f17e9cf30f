import type { Hash } from 'viem'
import type { BlockRef } from './slot.js'

/**
 * Evidence of the transaction that used a nonce (rule W). Every use leaves a positive trace in the body of a
 * block, except CREATE in delegated code. Only such a trace frees a transaction for another nonce. Counts
 * only show where to look.
 */

/** How the body of a block shows the use of one of the account's nonces, in the order of the body. */
export type Use = {
  /**
   * `transaction`: sent by the account. `authorization`: an EIP-7702 tuple signed by the account, which uses
   * its nonce only if the account's count equals that nonce. `deposit`: a deposit transaction of the OP
   * stack, whose nonce is in the receipt (undefined without it), or a transaction of another type whose
   * signature cannot be verified here.
   */
  readonly kind: 'transaction' | 'authorization' | 'deposit'
  readonly nonce: number | undefined
  /** The transaction that uses the nonce, or that carries the tuple. */
  readonly hash: Hash
}

/** A block with full transactions. Its reader has verified that it agrees with its header. */
export type Body = BlockRef & {
  readonly parentHash: Hash
  /** The hashes of all its transactions, in lower case. */
  readonly hashes: readonly Hash[]
  readonly uses: readonly Use[]
}

/**
 * One reading of a count. `refused`: the node reports that it has no state for that block. `undefined`: there
 * was no usable answer.
 */
export type CountReading = number | 'refused' | undefined

export type Witness = { readonly nonce: number; readonly hash: Hash }

export type EvidenceQuery = {
  readonly nonce: number
  /** Returns the hashes of every attempt ever journaled at a nonce, in lower case. */
  readonly own: (nonce: number) => ReadonlySet<Hash>
  /** The block with our own transaction that carries a tuple for this nonce, if there is one (EIP-7702). */
  readonly carriedIn?: BlockRef | undefined
}

/**
 * The counts before and after a block. Only tuples and deposits need them, because those prove nothing by
 * themselves.
 */
export type Counts = { readonly before: CountReading; readonly after: CountReading }

export type BodyFinding =
  | { readonly kind: 'own'; readonly hash: Hash }
  /**
   * The nonce was used, but not by us. The list has a witness for the requested nonce, and for the nonces
   * right above it that the same body uses.
   */
  | {
      readonly kind: 'other'
      readonly witnesses: readonly Witness[]
      /**
       * True if the use is a transaction of the account. A tuple or a deposit is proof only together with
       * counts that pass the nonce.
       */
      readonly isProof: boolean
    }
  /** Used by an authorization tuple in one of our own transactions. */
  | { readonly kind: 'authorized' }
  /** The account's count was above the nonce before this block. */
  | { readonly kind: 'earlier' }
  /** The account's count after this block is `count`, which is not above the nonce. */
  | { readonly kind: 'later'; readonly count: number }
  /** The body contains no information about the nonce. */
  | { readonly kind: 'nothing' }

/**
 * Derives the finding of one body for the nonce. The function is pure: the caller has to verify that the
 * block is on the chain.
 */
export function judgeBody(query: EvidenceQuery, body: Body, counts: Counts): BodyFinding {
  const { nonce } = query
  const mine = ownIn(query, nonce, new Set(body.hashes))
  if (mine !== undefined) return { kind: 'own', hash: mine }
  // A count that was not read becomes NaN, which is neither below nor above any nonce.
  const crosses = Number(counts.before) <= nonce && nonce < Number(counts.after)
  const reported = replay(body, crosses ? Number(counts.before) : undefined)
  const use = reported.used.get(nonce)
  if (use !== undefined) {
    const witnesses = witnessesFrom(query, body, reported.used)
    return { kind: 'other', witnesses, isProof: use.kind === 'transaction' }
  }
  if (crosses && query.carriedIn?.hash === body.hash) return { kind: 'authorized' }
  if (reported.first === undefined) return { kind: 'nothing' }
  if (reported.first > nonce) return { kind: 'earlier' }
  if (reported.count !== undefined && reported.count <= nonce) return { kind: 'later', count: reported.count }
  return { kind: 'nothing' }
}

/**
 * The count after a body whose transactions determine it; undefined if no transaction of the account does.
 */
export function countAfter(body: Body, before: number | undefined): number | undefined {
  const { count } = replay(body, before)
  return count
}

type Replay = {
  /** The use of each nonce. */
  readonly used: ReadonlyMap<number, Use>
  /** The lowest nonce of the account's transactions in this body. */
  readonly first: number | undefined
  /** The account's count after this body. */
  readonly count: number | undefined
}

/**
 * Replays the uses as the chain did. A transaction sets the count. A tuple adds one if it names the present
 * count (EIP-7702, after the increment of the sender). A deposit adds one.
 */
function replay({ uses }: Body, before: number | undefined): Replay {
  const used = new Map<number, Use>()
  const sent = uses.find(({ kind }) => kind === 'transaction')
  let count = before
  for (const use of uses) {
    const nonce = use.nonce ?? count
    const skipped = use.kind === 'authorization' && nonce !== count
    if (skipped) continue
    if (nonce === undefined) continue
    used.set(nonce, use)
    count = nonce + 1
  }
  return { used, first: sent?.nonce, count }
}

function witnessesFrom(query: EvidenceQuery, body: Body, used: ReadonlyMap<number, Use>): readonly Witness[] {
  const inBody = new Set(body.hashes)
  const witnesses: Witness[] = []
  for (let { nonce } = query; ; nonce++) {
    const use = used.get(nonce)
    if (use === undefined || ownIn(query, nonce, inBody) !== undefined) return witnesses
    witnesses.push({ nonce, hash: use.hash })
  }
}

function ownIn(query: EvidenceQuery, nonce: number, hashes: ReadonlySet<Hash>): Hash | undefined {
  for (const hash of query.own(nonce)) if (hashes.has(hash)) return hash
  return undefined
}

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

/** The numbers from `first` on, `length` of them; none for a negative length. */
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
