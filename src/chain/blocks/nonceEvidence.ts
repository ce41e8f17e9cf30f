import type { Hash } from 'viem'
import {
  type Body,
  type BodyFinding,
  type BodyRun,
  type CountReading,
  type Counts,
  countAfter,
  createSearch,
  endOf,
  judgeBody,
  narrow,
  nextCounts,
  type Search,
  type SearchEnd,
  upwards,
  type Witness,
} from '../../ledger/evidence.js'
import type { BlockRef } from '../../ledger/slot.js'
import { countCall, headerCall } from '../../rpc/codec.js'
import type { Port } from '../../rpc/port.js'
import {
  crosses,
  isCreated,
  type ReadEvidenceQuery,
  type Reader,
  readDelegation,
  stands,
} from './evidenceConfirm.js'
import {
  type AskedWith,
  ask,
  type BodyParts,
  type BodyReply,
  bodyCall,
  countAtHash,
  readBlock,
  readBody,
  readCount,
  readCountAtHash,
  unlessRefused,
} from './evidenceReads.js'

export type { ReadEvidenceQuery } from './evidenceConfirm.js'

/** The finding of one endpoint about the use of one nonce. */
export type EvidenceVerdict =
  /**
   * One of the slot's own attempts is in the sealed block. `beside` lists all transactions of that block,
   * including the attempt.
   */
  | {
      readonly kind: 'own'
      readonly hash: Hash
      readonly block: BlockRef
      readonly beside: readonly Hash[]
    }
  /**
   * The nonce was used in `block`, but not by us. There is one witness for the requested nonce and one for
   * each nonce right above it in the same body.
   */
  | { readonly kind: 'other'; readonly witnesses: readonly Witness[]; readonly block: BlockRef }
  /** Used in `block` by an authorization tuple in one of our own transactions. */
  | { readonly kind: 'authorized'; readonly block: BlockRef }
  /**
   * The account is delegated, and the counts around `block` pass the nonce without a trace: according to this
   * endpoint, a CREATE used it.
   */
  | { readonly kind: 'created'; readonly block: BlockRef }
  /** The count at the head has not passed the nonce, so there is nothing to explain. */
  | { readonly kind: 'notUsed' }
  /** The bodies show that the account's count is `shown`: the count `claimed` is wrong. */
  | { readonly kind: 'refuted'; readonly claimed: number; readonly shown: number }
  /** The answers prove nothing: try again later. */
  | { readonly kind: 'unsure'; readonly why: string }
  /** This endpoint does not serve the body that must contain the witness. */
  | { readonly kind: 'unreadable'; readonly why: string }

const COUNTS_MAX = 16
// A full body may be a megabyte, and gateways cut answers at ten or so.
const BODIES_AT_ONCE = 8
const BODIES_MAX = 256
/** The maximum number of consecutive bodies that are read to verify a count. */
const RECOUNT_MAX = 32

/** For a body that has to prove the use by itself. */
const NO_COUNTS: Counts = { before: undefined, after: undefined }

const UNSURE = (why: string): EvidenceVerdict => ({ kind: 'unsure', why })
const NO_HEAD = 'the endpoint does not show the newest block that was walked, or no count at it'
const NO_WITNESS =
  'the count has passed the nonce, but no body that was read shows the transaction that used it'
const MOVED = 'the chain moved while it was read'

/**
 * Searches for the transaction that used a nonce (rule W). Counts only lead the search (bisection) and prove
 * nothing; a body is proof. The search only reads, from one endpoint: one request if the count has not passed
 * the nonce, two or three if the newest blocks contain the proof.
 *
 * If an answer is missing, fails, or contradicts another one, the verdict is `unsure` or `unreadable`, and
 * the caller repeats the search later. A verdict holds for the chain at the time of reading: the caller has
 * to check that its block is deep enough and stays on the chain. The promise never rejects because of an
 * endpoint's answer.
 */
export async function readEvidence(port: Port, query: ReadEvidenceQuery): Promise<EvidenceVerdict> {
  const reader: Reader = { query, ask: (calls) => ask(port, query, calls) }
  const { nonce, to } = query
  const head = await readHead(reader)
  if (head === undefined) return UNSURE(NO_HEAD)
  if (head.count <= nonce) return { kind: 'notUsed' }
  const found = await locate(reader, head.parentCount)
  if (found.kind === 'verdict') return found.verdict
  if (found.kind === 'bodies') return walk(reader, found.end)
  const shown = await examine(reader, found.number, found.number === to ? head.parentCount : undefined)
  return isConclusive(shown) || query.isFirst ? shown : recount(reader, head.count, shown)
}

/**
 * The count at the sealed head as it was walked. Undefined if the endpoint has another head by now, or if its
 * readings disagree.
 */
export async function readCountAtHead(
  port: Port,
  query: AskedWith & { readonly to: number; readonly hash: Hash },
): Promise<number | undefined> {
  const { address, to, hash } = query
  const calls = [headerCall(to), countCall(address, to), countAtHash(address, hash), headerCall(to)]
  const [first, byNumber, byHash, last] = await ask(port, query, calls)
  if (readBlock(first)?.hash !== hash || readBlock(last)?.hash !== hash) return undefined
  const counts = [readCount(byNumber), ...unlessRefused(readCountAtHash(byHash))]
  const [count] = counts
  return typeof count === 'number' && counts.every((other) => other === count) ? count : undefined
}

/**
 * Reads the body of a block again, by its hash. `stands`: the transaction is in it and uses the nonce.
 * `missing`: a body that agrees with its header does not contain the transaction. Undefined if no such body
 * was available.
 */
export async function readWitness(
  port: Port,
  query: BodyParts & { readonly block: BlockRef; readonly witness: Witness },
): Promise<'stands' | 'missing' | undefined> {
  const { block, witness } = query
  const [reply] = await ask(port, query, [bodyCall(block.number, block.hash)])
  const body = await readBody(reply, query)
  if (typeof body !== 'object' || body.hash !== block.hash) return undefined
  // One transaction may carry several tuples of the account.
  const isThere = body.uses.some(
    ({ hash, nonce }) => hash === witness.hash && (nonce ?? witness.nonce) === witness.nonce,
  )
  return isThere ? 'stands' : 'missing'
}

/** The counts at the head and at its parent, if the endpoint has the head that was walked. */
async function readHead({
  query,
  ask,
}: Reader): Promise<{ count: number; parentCount: CountReading } | undefined> {
  const { address, to, hashAt } = query
  const ofParent = to === 0 ? [] : [countCall(address, to - 1)]
  const [block, count, parentCount] = await ask([headerCall(to), countCall(address, to), ...ofParent])
  const header = readBlock(block)
  const walked = hashAt?.(to)
  if (header === undefined || header.number !== to) return undefined
  if (walked !== undefined && header.hash !== walked) return undefined
  const read = readCount(count)
  // A node always has the state at the head: a refusal there gives no information about old state.
  if (typeof read !== 'number') return undefined
  return { count: read, parentCount: to === 0 ? 0 : readCount(parentCount) }
}

type Located =
  | { readonly kind: 'block'; readonly number: number }
  | { readonly kind: 'bodies'; readonly end: Extract<SearchEnd, { kind: 'bodies' }> }
  | { readonly kind: 'verdict'; readonly verdict: EvidenceVerdict }

/** Finds the block that used the nonce according to the counts. */
async function locate(reader: Reader, parentCount: CountReading): Promise<Located> {
  const { nonce, to } = reader.query
  const from = Math.max(0, reader.query.from)
  if (parentCount === undefined) return { kind: 'verdict', verdict: UNSURE(NO_HEAD) }
  if (parentCount === 'refused') return search(reader, createSearch(nonce, from, to, to - 1))
  if (parentCount <= nonce) return { kind: 'block', number: to }
  return search(reader, createSearch(nonce, from, to - 1))
}

/** Narrows down to the block that used the nonce, with several counts per request. */
async function search({ query, ask }: Reader, start: Search): Promise<Located> {
  let state = start
  for (;;) {
    const numbers = nextCounts(state, COUNTS_MAX)
    if (numbers.length === 0) break
    const replies = await ask(numbers.map((number) => countCall(query.address, number)))
    const counts = numbers.map((_, index) => readCount(replies[index]))
    const next = narrow(state, numbers, counts)
    if (next === undefined) return { kind: 'verdict', verdict: UNSURE('the counts contradict each other') }
    state = next
  }
  const end = endOf(state, query.bodiesMax ?? BODIES_MAX)
  if (end.kind === 'bodies') return { kind: 'bodies', end }
  // The count has passed the nonce in every block, so it points to no body.
  return { kind: 'block', number: end.kind === 'genesis' ? query.to : end.number }
}

/** Reads the body at which the counts point, and the counts around it, which tuples and deposits need. */
async function examine(reader: Reader, number: number, before: CountReading): Promise<EvidenceVerdict> {
  const { query, ask } = reader
  const { address, hashAt } = query
  const calls = [bodyCall(number, hashAt?.(number)), countCall(address, number)]
  const ofParent = before === undefined ? [countCall(address, number - 1)] : []
  const [reply, after, parentCount] = await ask([...calls, ...ofParent])
  const body = await readBody(reply, query)
  if (typeof body !== 'object') return unreadable(body, number)
  const counts = { before: before ?? readCount(parentCount), after: readCount(after) }
  return conclude(reader, body, counts)
}

function unreadable(body: Exclude<BodyReply, Body>, number: number): EvidenceVerdict {
  if (body === undefined) return UNSURE(`the body of block ${number} was not answered`)
  const why = {
    refused: 'is refused',
    missing: 'is missing',
    malformed: 'contradicts itself',
  }[body]
  return { kind: 'unreadable', why: `the body of block ${number} ${why}` }
}

/** Concludes from a body, after verifying that its block is on the chain that was walked. */
async function conclude(reader: Reader, body: Body, counts: Counts): Promise<EvidenceVerdict> {
  const { query } = reader
  const finding = judgeBody(query, body, counts)
  const block = { number: body.number, hash: body.hash }
  switch (finding.kind) {
    case 'own':
      if (!(await stands(reader, body))) return UNSURE(MOVED)
      return { kind: 'own', hash: finding.hash, block, beside: body.hashes }
    case 'other':
      if (!(await stands(reader, body))) return UNSURE(MOVED)
      if (!finding.isProof && !(await crosses(reader, body))) return UNSURE(NO_WITNESS)
      return { kind: 'other', witnesses: finding.witnesses, block }
    case 'authorized':
      return (await crosses(reader, body)) ? { kind: 'authorized', block } : UNSURE(NO_WITNESS)
    case 'nothing':
    case 'later':
      return (await isCreated(reader, body)) ? { kind: 'created', block } : UNSURE(NO_WITNESS)
    default:
      return UNSURE(NO_WITNESS)
  }
}

const isConclusive = ({ kind }: EvidenceVerdict): boolean => kind !== 'unsure' && kind !== 'unreadable'

/**
 * The counts have misled the search. The newest bodies are read one after the other, from a block in which
 * the account had not passed the nonce. One of them contains the witness, or together they show the true
 * count of the account.
 */
async function recount(
  reader: Reader,
  claimed: number,
  otherwise: EvidenceVerdict,
): Promise<EvidenceVerdict> {
  const { query } = reader
  const first = Math.max(0, query.to - RECOUNT_MAX + 1, query.from)
  let shown: number | undefined
  for (let start = first; start <= query.to; start += BODIES_AT_ONCE) {
    const numbers = upwards(start, Math.min(BODIES_AT_ONCE, query.to - start + 1))
    const bodies = await readBodies(reader, numbers)
    if (bodies.length < numbers.length) return otherwise
    for (const [index, body] of bodies.entries()) {
      if (typeof body !== 'object') return unreadable(body, start + index)
      const finding = judgeBody(query, body, NO_COUNTS)
      if (finding.kind === 'own' || finding.kind === 'other') return conclude(reader, body, NO_COUNTS)
      shown = countAfter(body, shown)
    }
  }
  if (shown === undefined || shown > query.nonce) return otherwise
  // Only a delegated account may have a higher count than its bodies show.
  const isDelegated = await readDelegation(reader, [query.to])
  return isDelegated === false ? { kind: 'refuted', claimed, shown } : otherwise
}

/** Searches bodies for the nonce if no old state is served. */
async function walk(reader: Reader, end: Extract<SearchEnd, { kind: 'bodies' }>): Promise<EvidenceVerdict> {
  for (const run of end.runs) {
    const verdict = await walkRun(reader, run)
    if (verdict !== undefined) return verdict
  }
  const why = `the endpoint serves no state at block ${end.refused}, and no body near it holds the nonce`
  // Only a node that refuses the state a second time has pruned it; a lagging node has not.
  const [reply] = await reader.ask([countCall(reader.query.address, end.refused)])
  return readCount(reply) === 'refused' ? { kind: 'unreadable', why } : UNSURE(why)
}

/** Undefined if none of these bodies contains the nonce. */
async function walkRun(reader: Reader, run: BodyRun): Promise<EvidenceVerdict | undefined> {
  for (let start = 0; start < run.numbers.length; start += BODIES_AT_ONCE) {
    const numbers = run.numbers.slice(start, start + BODIES_AT_ONCE)
    const bodies = await readBodies(reader, numbers)
    for (const [index, number] of numbers.entries()) {
      const body = bodies[index]
      if (body === 'refused') continue
      if (typeof body !== 'object') return unreadable(body, number)
      const finding = judgeBody(reader.query, body, NO_COUNTS)
      if (finding.kind === 'own' || finding.kind === 'other') return conclude(reader, body, NO_COUNTS)
      if (isPassed(finding, run)) return undefined
    }
  }
  return undefined
}

/**
 * True if the search is beyond the use: the account's transactions in this body lie on the other side of the
 * nonce.
 */
function isPassed({ kind }: BodyFinding, { passedBy }: BodyRun): boolean {
  return kind === (passedBy === 'above' ? 'earlier' : 'later')
}

/** Reads several bodies in one request, or one by one if that was too much for the endpoint. */
async function readBodies({ query, ask }: Reader, numbers: readonly number[]): Promise<readonly BodyReply[]> {
  const callOf = (number: number) => bodyCall(number, query.hashAt?.(number))
  const replies = await ask(numbers.map(callOf))
  const together = await Promise.all(replies.map((reply) => readBody(reply, query)))
  if (together.length > 0 && !together.includes(undefined)) return together
  const bodies: BodyReply[] = []
  for (const number of numbers) {
    const [reply] = await ask([callOf(number)])
    const body = await readBody(reply, query)
    if (body === undefined) break
    bodies.push(body)
  }
  return bodies
}
