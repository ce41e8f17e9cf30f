import type { Address, Hash } from 'viem'
import type { BlockRef } from './slot.js'

/** What the chain says of the use of one nonce, as far as block contents and counts prove it (P4). */
export type EvidenceVerdict =
  /** One of the slot's own attempts stands in the sealed block. */
  | { readonly kind: 'own'; readonly hash: Hash; readonly block: BlockRef }
  /**
   * Proven: used in `block` by nothing of ours. The same proof holds for every nonce from the one asked for up to
   * and without `upTo`. `hash` is that of the transaction which used the nonce asked for, where one did and could
   * be read: an authorization or a CREATE uses a nonce without a transaction of the account.
   */
  | {
      readonly kind: 'other'
      readonly hash: Hash | undefined
      readonly block: BlockRef
      readonly upTo: number
    }
  /** The count at the block asked for has not passed the nonce: nothing to explain. */
  | { readonly kind: 'notUsed' }
  /** A reading failed, readings contradicted each other, or the chain moved: proves nothing, ask again later. */
  | { readonly kind: 'unsure' }
  /** The nonce is used, and the history that would tell by what is not served. */
  | { readonly kind: 'pruned' }

/** One reading of a block. What the RPC codec decodes fits as it is. */
export type BlockReading = {
  readonly number: number | null
  readonly hash: Hash | null
  readonly parentHash: Hash
  /** Of all its transactions, in lower case. */
  readonly hashes: readonly Hash[]
}

/** One reading of a count. `refused`: the node says that it has no state there. `undefined`: no usable answer. */
export type CountReading = number | 'refused' | undefined

export type EvidenceQuery = {
  readonly address: Address
  readonly nonce: number
  /** Every attempt ever journaled at a nonce. Hashes in lower case. */
  readonly own: (nonce: number) => ReadonlySet<Hash>
  /** The hashes of the blocks that were walked: what is read must be on the same chain. */
  readonly hashAt?: ((number: number) => Hash | undefined) | undefined
}

/** The block at which the walk stands, read again in the end: it ties what was read to the chain that was walked. */
export type HeadReading = { readonly number: number; readonly reading: BlockReading | undefined }

/** The readings of a pair (A, S) with A the parent of S, so that (A, S] is S alone. */
export type PairReadings = {
  /** Number of S. */
  readonly number: number
  /** Every reading of A; not looked at for block 0. */
  readonly parents: readonly (BlockReading | undefined)[]
  /** Every reading of S: at least one asked for before the counts, and one after them. */
  readonly blocks: readonly (BlockReading | undefined)[]
  readonly parentCounts: readonly CountReading[]
  readonly counts: readonly CountReading[]
  readonly head?: HeadReading | undefined
}

/** `earlier`: the count had passed the nonce before S already, so another pair is to be read. */
export type PairVerdict = EvidenceVerdict | { readonly kind: 'earlier' }

const UNSURE = { kind: 'unsure' } as const

// One pair rarely covers more; it bounds what an absurd count makes us look up. The rest is asked for again.
const NONCES_MAX = 4_096

/**
 * Judges the readings of a pair. Every one of them must be there and agree with the others: what is missing or
 * contradicts itself proves nothing, since a verdict `other` lets the transaction be sent again.
 */
export function judgePair(query: EvidenceQuery, pair: PairReadings): PairVerdict {
  const block = agreed(query, pair.number, pair.blocks)
  if (block === undefined || !headStands(query, pair.head)) return UNSURE
  const mine = ownIn(query, query.nonce, new Set(block.hashes))
  if (mine !== undefined) return { kind: 'own', hash: mine, block: block.ref }
  const count = agreedCount(pair.counts)
  const parentCount = agreedCount(pair.parentCounts)
  // The state at the head is what a node is sure to have: a refusal there is no word on history.
  if (typeof count !== 'number') return UNSURE
  if (typeof parentCount === 'number' && parentCount > count) return UNSURE
  if (count <= query.nonce) return { kind: 'notUsed' }
  if (pair.number === 0 || parentCount === 'refused') return { kind: 'pruned' }
  if (parentCount === undefined) return UNSURE
  if (parentCount > query.nonce) return { kind: 'earlier' }
  const parent = agreed(query, pair.number - 1, pair.parents)
  if (parent === undefined || parent.ref.hash !== block.parentHash) return UNSURE
  return { kind: 'other', hash: undefined, block: block.ref, upTo: coveredUpTo(query, block.hashes, count) }
}

/** The first nonce after the one asked for to which "used in S, by nothing of ours" does not extend. */
function coveredUpTo(query: EvidenceQuery, hashes: readonly Hash[], count: number): number {
  const inBody = new Set(hashes)
  const end = Math.min(count, query.nonce + NONCES_MAX)
  for (let nonce = query.nonce + 1; nonce < end; nonce++) {
    if (ownIn(query, nonce, inBody) !== undefined) return nonce
  }
  return end
}

function ownIn(query: EvidenceQuery, nonce: number, hashes: ReadonlySet<Hash>): Hash | undefined {
  for (const hash of query.own(nonce)) if (hashes.has(hash)) return hash
  return undefined
}

export type BodyTransaction = { readonly hash: Hash; readonly from: string; readonly nonce: number }

/** A block with what its transactions say of their sender. */
export type BodyReading = BlockReading & { readonly transactions: readonly BodyTransaction[] }

/** `above`, `below`: no use of the nonce, but uses by the account of higher ones, or of lower ones only. */
export type BodyFinding =
  | { readonly kind: 'own' | 'other'; readonly hash: Hash }
  | { readonly kind: 'above' | 'below' | 'nothing' }

/** What a body by itself says of the nonce. No verdict yet: whether the block stands is for `judgeBody`. */
export function findUse(query: EvidenceQuery, body: BodyReading): BodyFinding {
  const mine = ownIn(query, query.nonce, new Set(body.hashes))
  if (mine !== undefined) return { kind: 'own', hash: mine }
  const address = query.address.toLowerCase()
  const sent = body.transactions.filter(({ from }) => from.toLowerCase() === address)
  const use = sent.find(({ nonce }) => nonce === query.nonce)
  if (use !== undefined) return { kind: 'other', hash: use.hash }
  if (sent.some(({ nonce }) => nonce > query.nonce)) return { kind: 'above' }
  return { kind: sent.length > 0 ? 'below' : 'nothing' }
}

export type BodyReadings = {
  readonly number: number
  readonly body: BodyReading
  /** The same block, read again in a later request. */
  readonly again: BlockReading | undefined
  readonly head?: HeadReading | undefined
}

/**
 * Judges a body that holds the nonce. No count is needed: an account's transaction with this nonce, in a block of
 * the chain, rules every other out. `pruned` where the body does not hold it.
 */
export function judgeBody(query: EvidenceQuery, readings: BodyReadings): EvidenceVerdict {
  const block = agreed(query, readings.number, [readings.body, readings.again])
  if (block === undefined || !headStands(query, readings.head)) return UNSURE
  const use = findUse(query, readings.body)
  if (use.kind === 'own') return { kind: 'own', hash: use.hash, block: block.ref }
  if (use.kind !== 'other') return { kind: 'pruned' }
  return { kind: 'other', hash: use.hash, block: block.ref, upTo: query.nonce + 1 }
}

type Agreed = { readonly ref: BlockRef; readonly parentHash: Hash; readonly hashes: readonly Hash[] }

/** The one block that all readings show, with the hash that was walked where it is known. */
function agreed(
  query: EvidenceQuery,
  number: number,
  readings: readonly (BlockReading | undefined)[],
): Agreed | undefined {
  const first = readings[0]
  if (first === undefined || first.hash === null || first.number !== number) return undefined
  if (!readings.every((reading) => reading !== undefined && sameBlock(reading, first))) return undefined
  const walked = query.hashAt?.(number)
  if (walked !== undefined && walked !== first.hash) return undefined
  return { ref: { number, hash: first.hash }, parentHash: first.parentHash, hashes: first.hashes }
}

function sameBlock(a: BlockReading, b: BlockReading): boolean {
  if (a.number !== b.number || a.hash !== b.hash || a.parentHash !== b.parentHash) return false
  return a.hashes.length === b.hashes.length && a.hashes.every((hash, index) => hash === b.hashes[index])
}

function headStands(query: EvidenceQuery, head: HeadReading | undefined): boolean {
  return head === undefined || agreed(query, head.number, [head.reading]) !== undefined
}

function agreedCount(readings: readonly CountReading[]): CountReading {
  if (readings.includes(undefined)) return undefined
  if (readings.includes('refused')) return 'refused'
  return readings.every((reading) => reading === readings[0]) ? readings[0] : undefined
}
