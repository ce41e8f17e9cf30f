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
