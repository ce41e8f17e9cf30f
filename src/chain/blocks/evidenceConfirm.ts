import type { Hash } from 'viem'
import type { Body, EvidenceQuery } from '../../ledger/evidence.js'
import { countCall, encodeBlock, headerCall } from '../../rpc/codec.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import {
  type BodyParts,
  countAtHash,
  readBlock,
  readCount,
  readCountAtHash,
  readDelegated,
  unlessRefused,
} from './evidenceReads.js'

export type ReadEvidenceQuery = BodyParts &
  Pick<EvidenceQuery, 'own' | 'carriedIn'> & {
    readonly nonce: number
    /** Number of a block believed to have a count ≤ nonce. If the belief is wrong, the search goes lower. */
    readonly from: number
    /** Number of the sealed head, as walked. */
    readonly to: number
    /**
     * This is the first search for the nonce. Missing evidence may only mean that the endpoint lags, so no
     * further bodies are read.
     */
    readonly isFirst?: boolean | undefined
    /** The hashes of the walked blocks that are known: every reading must equal them. */
    readonly hashAt?: ((number: number) => Hash | undefined) | undefined
    /** The maximum number of bodies to read in either direction if no old state is served. @default 256 */
    readonly bodiesMax?: number | undefined
  }

/** One endpoint under a query: every call goes with the chain id. */
export type Reader = {
  readonly query: ReadEvidenceQuery
  ask(calls: readonly RpcCall[]): Promise<readonly RpcReply[]>
}

/**
 * Reads the block again in a later request, together with the head, to verify that it is on the chain that
 * was walked.
 */
export async function stands({ query, ask }: Reader, body: Body): Promise<boolean> {
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
 * Whether the counts around a block pass the nonce in a second reading. They are also read by block hash, if
 * the endpoint supports that. If the body contains a transaction of the account, no count before the block
 * may exceed that transaction's nonce: such a count contradicts the body.
 */
export async function crosses({ query, ask }: Reader, body: Body): Promise<boolean> {
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

/** Detects the one use without a trace: CREATE in the code to which the account is delegated (EIP-7702). */
export async function isCreated(reader: Reader, body: Body): Promise<boolean> {
  const around = [Math.max(0, body.number - 1), body.number]
  // The delegation may begin and end within the block. In that case its tuples show it.
  const isWithin = body.uses.some(({ kind }) => kind === 'authorization')
  if (!isWithin && (await readDelegation(reader, around)) !== true) return false
  return crosses(reader, body)
}

/** Whether the account is delegated at any of these blocks; undefined if that is unknown. */
export async function readDelegation(
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
