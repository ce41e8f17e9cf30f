import type { Address, Hash } from 'viem'
import {
  type BodyReading,
  type CountReading,
  type EvidenceVerdict,
  findUse,
  type HeadReading,
  judgeBody,
  judgePair,
  type PairReadings,
} from '../ledger/evidence.js'
import {
  type BodyRun,
  createSearch,
  endOf,
  narrow,
  nextCounts,
  type Search,
  type SearchEnd,
} from '../ledger/evidenceSearch.js'
import { countCall, encodeBlock, headerCall } from '../rpc/codec.js'
import type { Port, RpcCall, RpcReply } from '../rpc/port.js'
import {
  countAtHash,
  readBlock,
  readBody,
  readCount,
  readCountAtHash,
  readNumber,
} from './evidenceReplies.js'

export type { EvidenceVerdict } from '../ledger/evidence.js'

export type ReadEvidenceQuery = {
  readonly address: Address
  readonly nonce: number
  /** Every attempt ever journaled at a nonce. Hashes in lower case. */
  readonly own: (nonce: number) => ReadonlySet<Hash>
  /** Number of a block believed to have a count ≤ nonce. Verified: where it is wrong, the search goes lower. */
  readonly from: number
  /** Number of the sealed head, as walked. */
  readonly to: number
  /** The hashes of the walked blocks that are known: every reading must equal them. */
  readonly hashAt?: ((number: number) => Hash | undefined) | undefined
  /** Asked beside each reading where given: an endpoint on another chain proves nothing. */
  readonly chainId?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Calls in one request. @default 17 */
  readonly batchMax?: number | undefined
  /** Bodies read in either direction, with full transactions, where no old state is served. @default 256 */
  readonly bodiesMax?: number | undefined
}

const COUNTS_MAX = 16
const BATCH_MAX = COUNTS_MAX + 1
// A full body may be a megabyte, and gateways cut answers at ten or so.
const BODIES_AT_ONCE = 8
const BODIES_MAX = 256

const UNSURE = { kind: 'unsure' } as const
const PRUNED = { kind: 'pruned' } as const

/**
 * Finds out what used a nonce (P4). Reads only; one request where the newest block did not use it or holds an own
 * attempt. Whatever fails, is missing or contradicts itself makes the verdict `unsure`: the caller asks again later.
 * A verdict holds for the chain as it stood: whether its block is deep enough, and stays, is the caller's to watch.
 * Never rejects for what an endpoint answers.
 */
export async function readEvidence(port: Port, query: ReadEvidenceQuery): Promise<EvidenceVerdict> {
  const reader: Reader = { query, ask: (calls) => ask(port, query, calls) }
  const from = Math.max(0, query.from)
  const pair = await readPair(reader, query.to)
  const verdict = judgePair(query, pair)
  if (verdict.kind === 'other') return confirm(reader, pair)
  if (verdict.kind === 'earlier') return search(reader, createSearch(query.nonce, from, query.to - 1))
  if (verdict.kind === 'pruned' && query.to > 0) {
    return search(reader, createSearch(query.nonce, from, query.to, query.to - 1))
  }
  return verdict
}

/**
 * The count at the sealed head as it was walked; undefined where the endpoint has another head by now, or where its
 * readings do not agree.
 */
export async function readCountAtHead(
  port: Port,
  query: Pick<ReadEvidenceQuery, 'address' | 'chainId' | 'signal'> & {
    readonly to: number
    readonly hash: Hash
  },
): Promise<number | undefined> {
  const { address, to, hash } = query
  const calls = [headerCall(to), countCall(address, to), countAtHash(address, hash), headerCall(to)]
  const [first, byNumber, byHash, last] = await ask(port, query, calls)
  if (readBlock(first)?.hash !== hash || readBlock(last)?.hash !== hash) return undefined
  const counts = [readCount(byNumber), ...unlessRefused(readCountAtHash(byHash))]
  const [count] = counts
  return typeof count === 'number' && counts.every((other) => other === count) ? count : undefined
}

type Reader = {
  readonly query: ReadEvidenceQuery
  ask(calls: readonly RpcCall[]): Promise<readonly RpcReply[]>
}

/** The replies to all calls, in order; none where the endpoint is on another chain or does not say. */
async function ask(
  port: Port,
  { chainId, signal, batchMax = BATCH_MAX }: Pick<ReadEvidenceQuery, 'chainId' | 'signal' | 'batchMax'>,
  calls: readonly RpcCall[],
): Promise<readonly RpcReply[]> {
  const all = chainId === undefined ? calls : [...calls, { method: 'eth_chainId', params: [] }]
  const replies: RpcReply[] = []
  for (let start = 0; start < all.length; start += batchMax) {
    const some = all.slice(start, start + batchMax)
    const answered = await port.batch(some, { signal })
    if (answered.length !== some.length) return []
    replies.push(...answered)
  }
  if (chainId === undefined) return replies
  return readNumber(replies.pop(), 'eth_chainId') === chainId ? replies : []
}

/** Reads the pair (S − 1, S) in one request, block S first and last. */
async function readPair({ query, ask }: Reader, number: number): Promise<PairReadings> {
  const { address } = query
  const ofParent = number === 0 ? [] : [headerCall(number - 1), countCall(address, number - 1)]
  const calls = [headerCall(number), ...ofParent, countCall(address, number), headerCall(number)]
  const replies = await ask(calls)
  const [first, ...rest] = replies
  const [count, last] = rest.slice(ofParent.length)
  return {
    number,
    parents: number === 0 ? [] : [readBlock(rest[0])],
    blocks: [readBlock(first), readBlock(last)],
    parentCounts: number === 0 ? [] : [readCount(rest[1])],
    counts: [readCount(count)],
  }
}

/**
 * Reads the pair again before `other` is told. A server may process a batch in any order (JSON-RPC 2.0, section 6),
 * so that the counts of one chain may have met the blocks of another within one request. Here they are named by
 * block hash, and the head is read too, which ties the pair to the chain that was walked.
 */
async function confirm(reader: Reader, pair: PairReadings): Promise<EvidenceVerdict> {
  const { query, ask } = reader
  const parentHash = pair.parents[0]?.hash
  const hash = pair.blocks[0]?.hash
  if (!parentHash || !hash) return UNSURE
  const { address, to } = query
  const [parentByHash, byHash, parentCount, count, block, head] = await ask([
    countAtHash(address, parentHash),
    countAtHash(address, hash),
    countCall(address, pair.number - 1),
    countCall(address, pair.number),
    headerCall(pair.number),
    headerCall(to),
  ])
  const verdict = judgePair(query, {
    ...pair,
    blocks: [...pair.blocks, readBlock(block)],
    parentCounts: [
      ...pair.parentCounts,
      readCount(parentCount),
      ...unlessRefused(readCountAtHash(parentByHash)),
    ],
    counts: [...pair.counts, readCount(count), ...unlessRefused(readCountAtHash(byHash))],
    head: { number: to, reading: readBlock(head) },
  })
  if (verdict.kind === 'other') return withHash(reader, verdict)
  return verdict.kind === 'own' ? verdict : UNSURE
}

/** A node that does not take block hashes (EIP-1898) says so with an error: the counts by number stand alone. */
function unlessRefused(count: CountReading): readonly CountReading[] {
  return count === 'refused' ? [] : [count]
}

type Other = Extract<EvidenceVerdict, { kind: 'other' }>

/**
 * Names the transaction that used the nonce, for who reads the event. Below the head the proof stands without it. At
 * the head the body has to show the use: anvil counts what it is still putting together under the number of its head
 * (1.7, measured), and the transactions of the next block, ours among them, would pass for somebody else's.
 */
async function withHash({ query, ask }: Reader, verdict: Other): Promise<EvidenceVerdict> {
  const [reply] = await ask([bodyCall(verdict.block.number)])
  const body = readBody(reply)
  const shown = typeof body === 'object' && body.hash === verdict.block.hash ? body : undefined
  const use = shown && findUse(query, shown)
  if (use?.kind === 'own') return UNSURE
  const hash = use?.kind === 'other' ? use.hash : undefined
  if (verdict.block.number !== query.to) return { ...verdict, hash }
  if (shown === undefined || hash === undefined) return UNSURE
  return { ...verdict, hash, upTo: shownUpTo(query, shown, verdict.upTo) }
}

/** The first nonce after the one asked for, at most `end`, that the body does not show as used by others. */
function shownUpTo(query: ReadEvidenceQuery, body: BodyReading, end: number): number {
  let nonce = query.nonce + 1
  while (nonce < end && findUse({ ...query, nonce }, body).kind === 'other') nonce++
  return nonce
}

/** Narrows down to the block that used the nonce, several counts a request, and judges what is found. */
async function search(reader: Reader, start: Search): Promise<EvidenceVerdict> {
  const { query, ask } = reader
  let state = start
  for (;;) {
    const numbers = nextCounts(state, COUNTS_MAX)
    if (numbers.length === 0) break
    const replies = await ask(numbers.map((number) => countCall(query.address, number)))
    const next = narrow(
      state,
      numbers,
      numbers.map((_, index) => readCount(replies[index])),
    )
    if (next === undefined) return UNSURE
    state = next
  }
  const end = endOf(state, query.bodiesMax ?? BODIES_MAX)
  if (end.kind === 'genesis') return PRUNED
  return end.kind === 'bodies' ? walk(reader, end) : judgeFound(reader, end.number)
}

async function judgeFound(reader: Reader, number: number): Promise<EvidenceVerdict> {
  const pair = await readPair(reader, number)
  const verdict = judgePair(reader.query, pair)
  if (verdict.kind === 'other') return confirm(reader, pair)
  // Anything else says that the chain moved under the search.
  return verdict.kind === 'own' ? verdict : UNSURE
}

/** Looks for the nonce in bodies: one that holds it is a proof by itself, and no count is needed. */
async function walk(reader: Reader, end: Extract<SearchEnd, { kind: 'bodies' }>): Promise<EvidenceVerdict> {
  for (const run of end.runs) {
    const verdict = await walkRun(reader, run)
    if (verdict !== undefined) return verdict
  }
  return fruitless(reader, end.refused)
}

/** Undefined where none of these bodies holds it. */
async function walkRun(reader: Reader, run: BodyRun): Promise<EvidenceVerdict | undefined> {
  for (let start = 0; start < run.numbers.length; start += BODIES_AT_ONCE) {
    const numbers = run.numbers.slice(start, start + BODIES_AT_ONCE)
    const bodies = await readBodies(reader, numbers)
    for (const [index, number] of numbers.entries()) {
      const body = bodies[index]
      if (body === undefined) return UNSURE
      if (body === 'refused') continue
      const use = findUse(reader.query, body)
      if (use.kind === 'own' || use.kind === 'other') return judgeFoundBody(reader, number, body)
      if (use.kind === run.passedBy) return undefined
    }
  }
  return undefined
}

/** Several bodies in one request, or one by one where that was too much for the endpoint. */
async function readBodies({ ask }: Reader, numbers: readonly number[]) {
  const together = (await ask(numbers.map(bodyCall))).map(readBody)
  if (together.length > 0 && together.every((body) => body !== undefined)) return together
  const bodies: (BodyReading | 'refused')[] = []
  for (const number of numbers) {
    const [reply] = await ask([bodyCall(number)])
    const body = readBody(reply)
    if (body === undefined) break
    bodies.push(body)
  }
  return bodies
}

async function judgeFoundBody(reader: Reader, number: number, body: BodyReading): Promise<EvidenceVerdict> {
  const { query, ask } = reader
  const [again, head] = await ask([headerCall(number), headerCall(query.to)])
  const headReading: HeadReading = { number: query.to, reading: readBlock(head) }
  return judgeBody(query, { number, body, again: readBlock(again), head: headReading })
}

/** Nothing was found. Only a node that refuses the state a second time has pruned it; a lagging one has not. */
async function fruitless({ query, ask }: Reader, refused: number): Promise<EvidenceVerdict> {
  const [reply] = await ask([countCall(query.address, refused)])
  return readCount(reply) === 'refused' ? PRUNED : UNSURE
}

function bodyCall(number: number): RpcCall {
  return { method: 'eth_getBlockByNumber', params: [encodeBlock(number), true] }
}
