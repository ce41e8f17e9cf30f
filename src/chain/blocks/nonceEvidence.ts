import type { Hash } from 'viem'
import {
  type Body,
  type BodyFinding,
  type CountReading,
  type Counts,
  countAfter,
  type EvidenceQuery,
  judgeBody,
  type Witness,
} from '../../ledger/evidence.js'
import {
  type BodyRun,
  createSearch,
  endOf,
  narrow,
  nextCounts,
  type Search,
  type SearchEnd,
} from '../../ledger/evidenceSearch.js'
import type { BlockRef } from '../../ledger/slot.js'
import { countCall, encodeBlock, headerCall } from '../../rpc/codec.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import { type BodyReply, bodyCall } from './bodies.js'
import { type AskedWith, ask, type BodyParts, bodyOf } from './evidenceAsk.js'
import { countAtHash, readBlock, readCount, readCountAtHash, readDelegated } from './evidenceReplies.js'

/** What one endpoint shows of the use of one nonce. */
export type EvidenceVerdict =
  /** One of the slot's own attempts stands in the sealed block, which holds the transactions `beside`, itself among them. */
  | {
      readonly kind: 'own'
      readonly hash: Hash
      readonly block: BlockRef
      readonly beside: readonly Hash[]
    }
  /** Used in `block` by nothing of ours, with a witness each for the nonce asked for and for those right above it. */
  | { readonly kind: 'other'; readonly witnesses: readonly Witness[]; readonly block: BlockRef }
  /** Used in `block` by a tuple of a transaction of our own. */
  | { readonly kind: 'authorized'; readonly block: BlockRef }
  /** The account is delegated, and the counts around `block` pass the nonce without a trace: a CREATE, says this endpoint. */
  | { readonly kind: 'created'; readonly block: BlockRef }
  /** The count at the head has not passed the nonce: nothing to explain. */
  | { readonly kind: 'notUsed' }
  /** The bodies say that the account stands at `shown`: the count of `claimed` is wrong. */
  | { readonly kind: 'refuted'; readonly claimed: number; readonly shown: number }
  /** Nothing is shown either way: ask again later. */
  | { readonly kind: 'unsure'; readonly why: string }
  /** The body that must hold the witness cannot be had from this endpoint. */
  | { readonly kind: 'unreadable'; readonly why: string }

export type ReadEvidenceQuery = BodyParts &
  Pick<EvidenceQuery, 'own' | 'carriedIn'> & {
    readonly nonce: number
    /** Number of a block believed to have a count ≤ nonce. Where it is wrong, the search goes lower. */
    readonly from: number
    /** Number of the sealed head, as walked. */
    readonly to: number
    /** Nothing was looked for yet: what is not shown at once may only lag, and no further bodies are read. */
    readonly isFirst?: boolean | undefined
    /** The hashes of the walked blocks that are known: every reading must equal them. */
    readonly hashAt?: ((number: number) => Hash | undefined) | undefined
    /** Bodies read in either direction where no old state is served. @default 256 */
    readonly bodiesMax?: number | undefined
  }

const COUNTS_MAX = 16
// A full body may be a megabyte, and gateways cut answers at ten or so.
const BODIES_AT_ONCE = 8
const BODIES_MAX = 256
/** Bodies that are read in a row to hold a count against them. */
const RECOUNT_MAX = 32

/** For a body that has to tell by itself. */
const NO_COUNTS: Counts = { before: undefined, after: undefined }

const UNSURE = (why: string): EvidenceVerdict => ({ kind: 'unsure', why })
const NO_HEAD = 'the endpoint does not show the newest block that was walked, or no count at it'
const NO_WITNESS = 'the count has passed the nonce, and no body that was read shows what used it'
const MOVED = 'the chain moved while it was read'

/**
 * Looks for what used a nonce (rule W). Counts show the way (bisection) and prove nothing; a body does. Reads only, at
 * one endpoint: one request where the count has not passed the nonce, two or three where the newest blocks tell.
 *
 * What is not had, fails, or contradicts itself makes the verdict `unsure` or `unreadable`: the caller asks again later.
 * A verdict holds for the chain as it stood: whether its block is deep enough, and stays, is the caller's to watch.
 * Never rejects for what an endpoint answers.
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
 * The count at the sealed head as it was walked; undefined where the endpoint has another head by now, or where its
 * readings do not agree.
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
 * Reads the body of a block once more, by its hash. `stands`: the transaction is in it and uses the nonce. `missing`: a
 * body that agrees with its header does not have it. Undefined where no such body could be had.
 */
export async function readWitness(
  port: Port,
  query: BodyParts & { readonly block: BlockRef; readonly witness: Witness },
): Promise<'stands' | 'missing' | undefined> {
  const { block, witness } = query
  const [reply] = await ask(port, query, [bodyCall(block.number, block.hash)])
  const body = await bodyOf(reply, query)
  if (typeof body !== 'object' || body.hash !== block.hash) return undefined
  // One transaction may carry several tuples of the account.
  const isThere = body.uses.some(
    ({ hash, nonce }) => hash === witness.hash && (nonce ?? witness.nonce) === witness.nonce,
  )
  return isThere ? 'stands' : 'missing'
}

type Reader = {
  readonly query: ReadEvidenceQuery
  ask(calls: readonly RpcCall[]): Promise<readonly RpcReply[]>
}

/** The counts at the head and at its parent, where the endpoint has the head that was walked. */
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
  // The state at the head is what a node is sure to have: a refusal there is no word on history.
  if (typeof read !== 'number') return undefined
  return { count: read, parentCount: to === 0 ? 0 : readCount(parentCount) }
}

type Located =
  | { readonly kind: 'block'; readonly number: number }
  | { readonly kind: 'bodies'; readonly end: Extract<SearchEnd, { kind: 'bodies' }> }
  | { readonly kind: 'verdict'; readonly verdict: EvidenceVerdict }

/** Where the counts say that the nonce was used. */
async function locate(reader: Reader, parentCount: CountReading): Promise<Located> {
  const { nonce, to } = reader.query
  const from = Math.max(0, reader.query.from)
  if (parentCount === undefined) return { kind: 'verdict', verdict: UNSURE(NO_HEAD) }
  if (parentCount === 'refused') return search(reader, createSearch(nonce, from, to, to - 1))
  if (parentCount <= nonce) return { kind: 'block', number: to }
  return search(reader, createSearch(nonce, from, to - 1))
}

/** Narrows down to the block that used the nonce, several counts a request. */
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
  // A count that has passed the nonce in every block: no body is where it points to.
  return { kind: 'block', number: end.kind === 'genesis' ? query.to : end.number }
}

/** Reads the body that the counts point to, with the counts around it, which tuples and deposits need. */
async function examine(reader: Reader, number: number, before: CountReading): Promise<EvidenceVerdict> {
  const { query, ask } = reader
  const { address, hashAt } = query
  const calls = [bodyCall(number, hashAt?.(number)), countCall(address, number)]
  const ofParent = before === undefined ? [countCall(address, number - 1)] : []
  const [reply, after, parentCount] = await ask([...calls, ...ofParent])
  const body = await bodyOf(reply, query)
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

/** What a body says, once it is sure that its block is on the chain that was walked. */
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

/** The block, read again in a later request, beside the head: it is on the chain that was walked. */
async function stands({ query, ask }: Reader, body: Body): Promise<boolean> {
  const { to, hashAt } = query
  const [again, top] = (await ask([headerCall(body.number), headerCall(to)])).map(readBlock)
  const walked = hashAt?.(body.number)
  const below = hashAt?.(body.number - 1)
  if (walked !== undefined && walked !== body.hash) return false
  if (below !== undefined && below !== body.parentHash) return false
  if (again?.hash !== body.hash || again.parentHash !== body.parentHash) return false
  if (again.hashes.length !== body.hashes.length) return false
  if (again.hashes.some((hash, index) => hash !== body.hashes[index])) return false
  return top?.number === to && (hashAt?.(to) ?? top.hash) === top.hash
}

/**
 * The counts around a block, named by hash where the endpoint takes it, pass the nonce: read once more. Where the body holds
 * a transaction of the account, no count before it is higher than that one's nonce: such counts contradict the body.
 */
async function crosses({ query, ask }: Reader, body: Body): Promise<boolean> {
  const { address, nonce } = query
  const [before, after, beforeHash, afterHash] = await ask([
    countCall(address, Math.max(0, body.number - 1)),
    countCall(address, body.number),
    countAtHash(address, body.parentHash),
    countAtHash(address, body.hash),
  ])
  const sent = body.uses.filter(({ kind }) => kind === 'transaction').map((use) => use.nonce ?? nonce)
  const most = Math.min(nonce, ...sent)
  const low = [readCount(before), ...unlessRefused(readCountAtHash(beforeHash))]
  const high = [readCount(after), ...unlessRefused(readCountAtHash(afterHash))]
  return (
    low.every((count) => typeof count === 'number' && count <= most) &&
    high.every((count) => typeof count === 'number' && count > nonce)
  )
}

/** The one use without a trace: CREATE in the code that an account is delegated to (EIP-7702). */
async function isCreated(reader: Reader, body: Body): Promise<boolean> {
  const around = [Math.max(0, body.number - 1), body.number]
  // The delegation may begin and end within the block: then its tuples show it.
  const isWithin = body.uses.some(({ kind }) => kind === 'authorization')
  if (!isWithin && (await readDelegation(reader, around)) !== true) return false
  return crosses(reader, body)
}

/** Whether the account is delegated at any of these blocks; undefined where that is not known. */
async function readDelegation(
  { query, ask }: Reader,
  numbers: readonly number[],
): Promise<boolean | undefined> {
  const calls = numbers.map((number) => ({
    method: 'eth_getCode',
    params: [query.address, encodeBlock(number)],
  }))
  const codes = (await ask(calls)).map(readDelegated)
  if (codes.includes(true)) return true
  return codes.length === 0 || codes.includes(undefined) ? undefined : false
}

/** A node that does not take block hashes (EIP-1898) says so with an error: the counts by number stand alone. */
function unlessRefused(count: CountReading): readonly CountReading[] {
  return count === 'refused' ? [] : [count]
}

const isConclusive = ({ kind }: EvidenceVerdict): boolean => kind !== 'unsure' && kind !== 'unreadable'

/**
 * The counts have misled the search: the newest bodies are read one after the other, from a block that the account had
 * not passed the nonce in. One of them holds the witness, or they show what the account really stands at.
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
  // Only a delegated account may stand higher than its bodies show.
  const isDelegated = await readDelegation(reader, [query.to])
  return isDelegated === false ? { kind: 'refuted', claimed, shown } : otherwise
}

/** Looks for the nonce in bodies where no old state is served. */
async function walk(reader: Reader, end: Extract<SearchEnd, { kind: 'bodies' }>): Promise<EvidenceVerdict> {
  for (const run of end.runs) {
    const verdict = await walkRun(reader, run)
    if (verdict !== undefined) return verdict
  }
  const why = `the endpoint serves no state at block ${end.refused}, and no body near it holds the nonce`
  // Only a node that refuses the state a second time has pruned it; a lagging one has not.
  const [reply] = await reader.ask([countCall(reader.query.address, end.refused)])
  return readCount(reply) === 'refused' ? { kind: 'unreadable', why } : UNSURE(why)
}

/** Undefined where none of these bodies holds it. */
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

/** Beyond the use: what the account sent here lies on the other side of the nonce. */
function isPassed({ kind }: BodyFinding, { passedBy }: BodyRun): boolean {
  return kind === (passedBy === 'above' ? 'earlier' : 'later')
}

/** Several bodies in one request, or one by one where that was too much for the endpoint. */
async function readBodies({ query, ask }: Reader, numbers: readonly number[]): Promise<readonly BodyReply[]> {
  const callOf = (number: number) => bodyCall(number, query.hashAt?.(number))
  const replies = await ask(numbers.map(callOf))
  const together = await Promise.all(replies.map((reply) => bodyOf(reply, query)))
  if (together.length > 0 && !together.includes(undefined)) return together
  const bodies: BodyReply[] = []
  for (const number of numbers) {
    const [reply] = await ask([callOf(number)])
    const body = await bodyOf(reply, query)
    if (body === undefined) break
    bodies.push(body)
  }
  return bodies
}

function upwards(first: number, length: number): readonly number[] {
  return Array.from({ length }, (_, index) => first + index)
}
