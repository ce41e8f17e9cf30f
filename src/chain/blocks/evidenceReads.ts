import type { Address, Hash, Hex } from 'viem'
import type { Body, CountReading, Use } from '../../ledger/evidence.js'
import {
  decodeData,
  decodeHash,
  decodeHeader,
  decodeNumber,
  decodeObject,
  encodeBlock,
} from '../../rpc/codec.js'
import { isHistoryRefused } from '../../rpc/history.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { Signatures } from '../../rpc/signatures.js'
import { readStatements, says } from '../../rpc/statements.js'
import { decoded } from './tickParts.js'

/** The parameters of every reading for evidence. */
export type AskedWith = {
  readonly address: Address
  /** If given, it is verified with each reading, because an endpoint on another chain proves nothing. */
  readonly chainId?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** The maximum number of calls in one request. @default 17 */
  readonly batchMax?: number | undefined
}

/** The additional parameters for reading a body. */
export type BodyParts = AskedWith & {
  readonly signatures: Signatures
  /** True for one of our own attempts: its signature does not have to be verified. */
  readonly isOwn: (hash: Hash) => boolean
}

// A request as wide as a step of the search, plus the chain id.
const BATCH_MAX = 17

/**
 * The replies to all calls, in order. Empty if the endpoint is on another chain, or does not answer with its
 * chain id.
 */
export async function ask(
  port: Port,
  { chainId, signal, batchMax = BATCH_MAX }: AskedWith,
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

/** One reading of a block. A header from the RPC codec has this type. */
type BlockReading = {
  readonly number: number | null
  readonly hash: Hash | null
  readonly parentHash: Hash
  readonly timestamp: number
  /** The hashes of all its transactions, in lower case. */
  readonly hashes: readonly Hash[]
}

/** Reads a block. Undefined if there was no answer, none that can be decoded, or no such block. */
export function readBlock(reply: RpcReply | undefined): BlockReading | undefined {
  return decoded(reply, (result) => decodeHeader(result) ?? undefined)
}

/** Reads a count. */
export function readCount(reply: RpcReply | undefined): CountReading {
  if (reply?.ok === false) return isHistoryRefused(reply.failure) ? 'refused' : undefined
  return readNumber(reply, 'eth_getTransactionCount')
}

/**
 * Reads a count at a block named by its hash. `refused` only if the node does not support hashes at all. If a
 * node supports them but does not know the block, it is on another fork or lags, and so are its counts by
 * number.
 */
export function readCountAtHash(reply: RpcReply | undefined): CountReading {
  if (reply === undefined || reply.ok) return readCount(reply)
  const statements = readStatements(reply.failure)
  if (says(statements, UNKNOWN_BLOCK)) return undefined
  const refused = says(statements, INVALID_PARAMS) || statements.some(({ code }) => INVALID_CODES.has(code))
  return refused ? 'refused' : undefined
}

/**
 * A node without support for block hashes (EIP-1898) answers with an error: then only the counts by number
 * are used.
 */
export function unlessRefused(count: CountReading): readonly CountReading[] {
  return count === 'refused' ? [] : [count]
}

// geth "header for hash not found", "hash is not currently canonical"; reth "block not found: hash …"; anvil
// "Resource not found"; Nethermind "… could not be found"; others "unknown block".
const UNKNOWN_BLOCK = /not (?:be )?found|unknown (?:block|header)|canonical|missing/i

// JSON-RPC 2.0, section 5.1: invalid request and invalid params.
const INVALID_CODES: ReadonlySet<unknown> = new Set([-32600, -32602])
const INVALID_PARAMS =
  /invalid (?:arg|param|type|block|request|input|hex)|unmarshal|deserializ|hex string|not supported/i

/** Reads a hex quantity as a number. Undefined if there was no answer, or none that can be decoded. */
export function readNumber(reply: RpcReply | undefined, method: string): number | undefined {
  return decoded(reply, (result) => decodeNumber(result, method))
}

/**
 * Whether the code is a delegation (EIP-7702: 0xef0100 and an address); undefined without a usable answer.
 */
export function readDelegated(reply: RpcReply | undefined): boolean | undefined {
  return decoded(reply, (result) => decodeData(result, 'eth_getCode').startsWith('0xef0100'))
}

/** Requests the count at a block named by its hash (EIP-1898), which no reorg can change. */
export function countAtHash(address: Hex, blockHash: Hash) {
  return { method: 'eth_getTransactionCount', params: [address, { blockHash }] }
}

/** Requests a block with full transactions, by the hash that was walked if it is known. */
export function bodyCall(number: number, hash: Hash | undefined): RpcCall {
  return hash === undefined
    ? { method: 'eth_getBlockByNumber', params: [encodeBlock(number), true] }
    : { method: 'eth_getBlockByHash', params: [hash, true] }
}

type BodyQuery = Pick<BodyParts, 'address' | 'chainId' | 'signatures' | 'isOwn'>

/**
 * `refused`: the node reports that it does not serve the block. `missing`: it has no such block. `malformed`:
 * the block contradicts itself: it used gas and lists no transactions, or it lists a transaction that its
 * sender has not signed.
 */
export type BodyReply = Body | 'refused' | 'missing' | 'malformed' | undefined

/** Decodes a body, and verifies that it agrees with its own header. */
export async function readBody(reply: RpcReply | undefined, query: BodyQuery): Promise<BodyReply> {
  if (reply === undefined) return undefined
  if (!reply.ok) return isHistoryRefused(reply.failure) ? 'refused' : undefined
  if (reply.result === null) return 'missing'
  try {
    const block = decodeHeader(reply.result)
    if (block === null || block.number === null || block.hash === null) return 'malformed'
    if (block.gasUsed > 0n && block.hashes.length === 0) return 'malformed'
    const { transactions } = decodeObject(reply.result, 'eth_getBlockByNumber')
    const uses = await usesIn(transactions as readonly unknown[], query)
    if (uses === undefined) return 'malformed'
    const { number, hash, parentHash, hashes } = block
    return { number, hash, parentHash, hashes, uses }
  } catch {
    return 'malformed'
  }
}

const DEPOSIT = '0x7e'

async function usesIn(
  transactions: readonly unknown[],
  query: BodyQuery,
): Promise<readonly Use[] | undefined> {
  const address = query.address.toLowerCase()
  const uses: Use[] = []
  for (const item of transactions) {
    const transaction = decodeObject(item, 'eth_getBlockByNumber', 'a transaction')
    const hash = decodeHash(transaction.hash, 'eth_getBlockByNumber', 'a transaction hash')
    if (String(transaction.from).toLowerCase() === address) {
      const use = await useOf(transaction, hash, query)
      if (use === undefined) return undefined
      uses.push(use)
    }
    uses.push(...(await tuplesIn(transaction, hash, query)))
  }
  return uses
}

/**
 * Undefined if the account has not signed the transaction, or has signed it for another chain: then the
 * endpoint inserted it.
 */
async function useOf(
  transaction: Readonly<Record<string, unknown>>,
  hash: Hash,
  { address, chainId, signatures, isOwn }: BodyQuery,
): Promise<Use | undefined> {
  // Not every node shows a nonce for a deposit.
  if (transaction.type === DEPOSIT) return { kind: 'deposit', nonce: undefined, hash }
  const nonce = decodeNumber(transaction.nonce ?? '', 'eth_getBlockByNumber', 'a nonce')
  if (isOwn(hash)) return { kind: 'transaction', nonce, hash }
  const signer = await signatures.signerOf(transaction)
  // Any sender may have created a transaction of a type whose signature cannot be read here. Like a deposit,
  // it proves nothing without counts.
  if (signer === 'unsigned') return { kind: 'deposit', nonce, hash }
  const isSigned = signer?.toLowerCase() === address.toLowerCase() && isForChain(transaction, chainId)
  return isSigned ? { kind: 'transaction', nonce, hash } : undefined
}

/** EIP-155: `v` of a legacy transaction is chain id * 2 + 35 or 36, or 27 or 28 if it names no chain. */
function isForChain(transaction: Readonly<Record<string, unknown>>, chainId: number | undefined): boolean {
  if (chainId === undefined) return true
  const { type, v, chainId: named } = transaction
  if (type !== undefined && type !== null && type !== '0x0')
    return named === undefined || Number(named) === chainId
  return v === undefined || Number(v) < 35 || (BigInt(v as string) - 35n) / 2n === BigInt(chainId)
}

/** EIP-7702: a tuple is valid for one chain, or for all chains if its chain id is 0. */
async function tuplesIn(
  { authorizationList }: Readonly<Record<string, unknown>>,
  hash: Hash,
  { address, chainId, signatures }: BodyQuery,
): Promise<readonly Use[]> {
  if (!Array.isArray(authorizationList)) return []
  const uses: Use[] = []
  for (const tuple of authorizationList) {
    const { chainId: onChain, nonce } = decodeObject(tuple, 'eth_getBlockByNumber', 'an authorization')
    const goesHere = Number(onChain) === 0 || chainId === undefined || Number(onChain) === chainId
    if (!goesHere || (await signatures.authorityOf(tuple))?.toLowerCase() !== address.toLowerCase()) continue
    uses.push({ kind: 'authorization', nonce: Number(nonce), hash })
  }
  return uses
}
