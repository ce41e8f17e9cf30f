import type { Hash } from 'viem'
import type { BlockRef } from './slot.js'

/**
 * Evidence of who used a nonce (rule W): every use but CREATE in delegated code leaves a positive trace in the body of
 * a block, and nothing but such a trace frees a transaction for another nonce. Counts only show where to look.
 */

/** How the body of a block shows the use of a nonce of the account, in the order of the body. */
export type Use = {
  /**
   * `transaction`: sent by the account. `authorization`: an EIP-7702 tuple signed by it, which uses its nonce only where
   * the account stands at that nonce. `deposit`: of the OP stack, whose nonce is in the receipt (undefined without it), or
   * of another type whose signature cannot be read here.
   */
  readonly kind: 'transaction' | 'authorization' | 'deposit'
  readonly nonce: number | undefined
  /** The transaction that uses the nonce, or that carries the tuple. */
  readonly hash: Hash
}

/** A block with full transactions, as read and found to agree with its header. */
export type Body = BlockRef & {
  readonly parentHash: Hash
  /** Of all its transactions, in lower case. */
  readonly hashes: readonly Hash[]
  readonly uses: readonly Use[]
}

/** One reading of a count. `refused`: the node says that it has no state there. `undefined`: no usable answer. */
export type CountReading = number | 'refused' | undefined

export type Witness = { readonly nonce: number; readonly hash: Hash }

export type EvidenceQuery = {
  readonly nonce: number
  /** Every attempt ever journaled at a nonce. Hashes in lower case. */
  readonly own: (nonce: number) => ReadonlySet<Hash>
  /** The block with the transaction of ours that carries a tuple for this nonce, where there is one (EIP-7702). */
  readonly carriedIn?: BlockRef | undefined
}

/** The counts before and after a block. Needed for tuples and deposits alone, which do not prove by themselves. */
export type Counts = { readonly before: CountReading; readonly after: CountReading }

export type BodyFinding =
  | { readonly kind: 'own'; readonly hash: Hash }
  /** Used by nothing of ours: a witness for the nonce asked for, and for those right above it in the same body. */
  | {
      readonly kind: 'other'
      readonly witnesses: readonly Witness[]
      /** A transaction of the account. A tuple or a deposit proves only together with counts that pass the nonce. */
      readonly isProof: boolean
    }
  /** Used by a tuple in a transaction of our own. */
  | { readonly kind: 'authorized' }
  /** The account stood above the nonce before this block. */
  | { readonly kind: 'earlier' }
  /** The account stands at `count`, not above the nonce, after this block. */
  | { readonly kind: 'later'; readonly count: number }
  /** The body says nothing of the nonce. */
  | { readonly kind: 'nothing' }

/** What one body says of the nonce. A pure reading: that the block is on the chain is the caller's to see to. */
export function judgeBody(query: EvidenceQuery, body: Body, counts: Counts): BodyFinding {
  const { nonce } = query
  const mine = ownIn(query, nonce, new Set(body.hashes))
  if (mine !== undefined) return { kind: 'own', hash: mine }
  // What was not read is neither below nor above anything: it is not a number.
  const crosses = Number(counts.before) <= nonce && nonce < Number(counts.after)
  const told = replay(body, crosses ? Number(counts.before) : undefined)
  const use = told.used.get(nonce)
  if (use !== undefined) {
    const witnesses = witnessesFrom(query, body, told.used)
    return { kind: 'other', witnesses, isProof: use.kind === 'transaction' }
  }
  if (crosses && query.carriedIn?.hash === body.hash) return { kind: 'authorized' }
  if (told.first === undefined) return { kind: 'nothing' }
  if (told.first > nonce) return { kind: 'earlier' }
  if (told.count !== undefined && told.count <= nonce) return { kind: 'later', count: told.count }
  return { kind: 'nothing' }
}

/** The count after a body whose transactions fix it; undefined where none of the account does. */
export function countAfter(body: Body, before: number | undefined): number | undefined {
  const { count } = replay(body, before)
  return count
}

type Replay = {
  /** Which use stands at which nonce. */
  readonly used: ReadonlyMap<number, Use>
  /** The lowest nonce that a transaction of the account has here. */
  readonly first: number | undefined
  /** What the account stands at after it. */
  readonly count: number | undefined
}

/**
 * Goes through the uses as the chain did: a transaction fixes the count, a tuple adds one where it names the count
 * (EIP-7702, after the increment of the sender), a deposit adds one.
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
