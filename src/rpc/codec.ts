import type { Address, Hex } from 'viem'
import { invalid } from '../errors/invalid.js'
import { malformed } from './errors.js'
import type { RpcCall } from './port.js'

/** The tags that select a block. */
export const blockTags = ['latest', 'pending', 'safe', 'finalized', 'earliest'] as const
export type BlockSelectorTag = (typeof blockTags)[number]

/** A block: a tag, or its number as hex, bigint or number. Not a block hash. */
export type BlockSelector = BlockSelectorTag | Hex | bigint | number

/**
 * The fields of a block that the engine needs, with the hashes of its transactions in order, in lower case.
 */
export type LightHeader = {
  /** `null` if the node gives its pending block no number. */
  readonly number: number | null
  /**
   * `null` for the pending block of nodes that answer null or 32 zero bytes. Otherwise it changes with the
   * contents.
   */
  readonly hash: Hex | null
  readonly parentHash: Hex
  /** Seconds since the epoch. */
  readonly timestamp: number
  /** Milliseconds since the epoch, of chains that show them (Base since its upgrade Denim, November 2026). */
  readonly timestampMs?: number | undefined
  readonly baseFeePerGas: bigint | undefined
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  readonly hashes: readonly Hex[]
  /**
   * The newest fork that the header fields show: `withdrawalsRoot` came with Shanghai, `requestsHash` with
   * Prague.
   */
  readonly fork?: 'shanghai' | 'prague' | undefined
}

/** 32 zero bytes: Base's hash of a block that is not sealed. */
const zeroHash: Hex = `0x${'0'.repeat(64)}`

const TAGS: ReadonlySet<string> = new Set(blockTags)
const QUANTITY = /^0x[0-9a-f]{1,64}$/i
const HASH = /^0x[0-9a-f]{64}$/i
const DATA = /^0x(?:[0-9a-f]{2})*$/i
const WORD = /^0x[0-9a-f]{0,64}$/i
const BLOCK_NUMBER_MAX = 2n ** 64n - 1n

/**
 * The wire form of a block selector.
 *
 * @throws `INVALID`, naming `argument`, if the value is not a selector
 */
export function encodeBlock(selector: BlockSelector, argument = 'block'): string {
  if (typeof selector === 'string' && TAGS.has(selector)) return selector
  const number = blockNumberOf(selector)
  if (number === undefined || number < 0n || number > BLOCK_NUMBER_MAX) {
    throw invalid(
      argument,
      selector,
      `a block number (hex, bigint or number) or one of ${blockTags.join(', ')}`,
    )
  }
  // Canonical: geth rejects a quantity with leading zeros (common/hexutil, ErrLeadingZero).
  return `0x${number.toString(16)}`
}

function blockNumberOf(selector: unknown): bigint | undefined {
  if (typeof selector === 'bigint') return selector
  if (typeof selector === 'number') return Number.isSafeInteger(selector) ? BigInt(selector) : undefined
  if (typeof selector === 'string' && QUANTITY.test(selector)) return BigInt(selector)
  return undefined
}

/** `eth_getBlockByNumber` with hashes only: decode its result with `decodeHeader`. */
export function headerCall(selector: BlockSelector): RpcCall {
  return { method: 'eth_getBlockByNumber', params: [encodeBlock(selector), false] }
}

/** `eth_getBalance`: decode its result with `decodeQuantity`. The address is not checked again. */
export function balanceCall(address: Hex, selector: BlockSelector = 'latest'): RpcCall {
  return { method: 'eth_getBalance', params: [address, encodeBlock(selector)] }
}

/** `eth_getTransactionCount`: decode its result with `decodeNumber`. The address is not checked again. */
export function countCall(address: Hex, selector: BlockSelector): RpcCall {
  return { method: 'eth_getTransactionCount', params: [address, encodeBlock(selector)] }
}

/**
 * Decodes a hex quantity to a bigint. Leading zeros are tolerated.
 *
 * @throws a typed error that names the method and `what`
 */
export function decodeQuantity(value: unknown, method: string, what = 'result'): bigint {
  if (typeof value === 'string' && QUANTITY.test(value)) return BigInt(value)
  throw malformed(method, `${what} is not a hex quantity`)
}

/** Decodes a hex quantity that must fit a JavaScript number: a nonce, block number or timestamp. */
export function decodeNumber(value: unknown, method: string, what = 'result'): number {
  if (typeof value === 'string' && QUANTITY.test(value)) {
    const number = Number(value)
    if (Number.isSafeInteger(number)) return number
  }
  throw malformed(method, `${what} is not a hex quantity below 2^53`)
}

/** Decodes 32 bytes of hex to lower case. */
export function decodeHash(value: unknown, method: string, what = 'result'): Hex {
  if (typeof value === 'string' && HASH.test(value)) return value.toLowerCase() as Hex
  throw malformed(method, `${what} is not 32 bytes of hex`)
}

/**
 * Decodes a storage word to 32 bytes in lower case, and adds the leading zeros that some nodes leave out.
 * Ganache 7.9 answers `0x` for an unset slot (checked on a running node).
 */
export function decodeWord(value: unknown, method: string, what = 'result'): Hex {
  if (typeof value === 'string' && WORD.test(value))
    return `0x${value.slice(2).toLowerCase().padStart(64, '0')}`
  throw malformed(method, `${what} is not up to 32 bytes of hex`)
}

/**
 * Decodes the code of an account to lower case. ganache-core 2.2 answers `0x0` for an account without code
 * (MetaMask/metamask-extension shared/modules/contract-utils.ts).
 */
export function decodeCode(value: unknown, method: string): Hex {
  return value === '0x0' ? '0x' : decodeData(value, method)
}

/** Any number of bytes of hex, in lower case. */
export function decodeData(value: unknown, method: string, what = 'result'): Hex {
  if (typeof value === 'string' && DATA.test(value)) return value.toLowerCase() as Hex
  throw malformed(method, `${what} is not hex data`)
}

/** An object, not an array and not null. */
export function decodeObject(
  value: unknown,
  method: string,
  what = 'result',
): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw malformed(method, `${what} is not an object`)
}

/** Decodes a block hash, or null for the forms in which nodes express that there is no hash yet. */
export function decodeHashOrNull(value: unknown, method: string, what: string): Hex | null {
  if (value === null || value === undefined) return null
  const hash = decodeHash(value, method, what)
  return hash === zeroHash ? null : hash
}

/**
 * Reduces an answer of `eth_getBlockByNumber` to the fields that the engine needs; `null` if no block was
 * found. Strict about required fields. Tolerates fields that real pending blocks lack (number, hash), and
 * full transaction objects instead of hashes.
 *
 * @throws a typed error that names the method and the field
 */
export function decodeHeader(result: unknown, method = 'eth_getBlockByNumber'): LightHeader | null {
  if (result === null) return null
  const block = decodeObject(result, method)
  const { number, baseFeePerGas } = block
  return {
    number: number === null || number === undefined ? null : decodeNumber(number, method, 'number'),
    hash: decodeHashOrNull(block.hash, method, 'hash'),
    parentHash: decodeHash(block.parentHash, method, 'parentHash'),
    timestamp: decodeNumber(block.timestamp, method, 'timestamp'),
    baseFeePerGas:
      baseFeePerGas === null || baseFeePerGas === undefined
        ? undefined
        : decodeQuantity(baseFeePerGas, method, 'baseFeePerGas'),
    gasLimit: decodeQuantity(block.gasLimit, method, 'gasLimit'),
    gasUsed: decodeQuantity(block.gasUsed, method, 'gasUsed'),
    hashes: decodeHashes(block.transactions, method),
    ...forkOf(block),
    ...timestampMsOf(block),
  }
}

/** A value that is not within the second of the timestamp has another meaning. */
function timestampMsOf({
  timestamp,
  timestampMs,
}: Readonly<Record<string, unknown>>): Pick<LightHeader, 'timestampMs'> {
  if (typeof timestampMs !== 'string' || !QUANTITY.test(timestampMs)) return {}
  const ms = Number(timestampMs)
  return Math.floor(ms / 1_000) === Number(timestamp) ? { timestampMs: ms } : {}
}

function forkOf({
  requestsHash,
  withdrawalsRoot,
}: Readonly<Record<string, unknown>>): Pick<LightHeader, 'fork'> {
  if (typeof requestsHash === 'string') return PRAGUE
  return typeof withdrawalsRoot === 'string' ? SHANGHAI : NO_FORK
}

const PRAGUE = { fork: 'prague' } as const
const SHANGHAI = { fork: 'shanghai' } as const
const NO_FORK = {}

/** The hashes of a block's transactions, from an answer with hashes or with full objects. */
export function decodeHashes(transactions: unknown, method: string): readonly Hex[] {
  if (!Array.isArray(transactions)) throw malformed(method, 'transactions is not an array')
  // Called with thousands of hashes every 200 ms: the parsed array is returned as it is unless a hash must
  // change, and the length stands in for a full check of each hash.
  for (const item of transactions) {
    if (typeof item !== 'string' || item.length !== 66 || item !== item.toLowerCase()) {
      return transactions.map((each) => decodeHash(hashOf(each), method, 'a transaction hash'))
    }
  }
  return transactions as Hex[]
}

function hashOf(item: unknown): unknown {
  return typeof item === 'object' && item !== null ? (item as { hash?: unknown }).hash : item
}

/**
 * True if the pending block is the latest block. geth and its forks omit the hash of every `pending` block
 * (`RPCMarshalBlock` of `internal/ethapi`); then the parent and the contents decide. If `latest` is too high,
 * it also has the number of the pending block.
 */
export function isLatestBlock(pending: LightHeader, latest: LightHeader): boolean {
  if (pending.hash !== null) return pending.number === latest.number && pending.hash === latest.hash
  return sameContents(pending, { ...latest, hash: null })
}

/**
 * True if two readings of a block show the same contents. A partial hash changes with the contents; blocks
 * without a hash are compared by their contents.
 */
export function sameContents(a: LightHeader, b: LightHeader): boolean {
  if (a.number !== b.number || a.hash !== b.hash || a.parentHash !== b.parentHash) return false
  if (a.gasUsed !== b.gasUsed || a.hashes.length !== b.hashes.length) return false
  return a.hash !== null || a.hashes.every((hash, index) => hash === b.hashes[index])
}

/**
 * The kind of code at an address. A delegated account (EIP-7702) runs the code of `to`, and node pools accept
 * few transactions of it.
 */
export type AccountKind =
  | { readonly kind: 'plain' }
  | { readonly kind: 'contract' }
  | { readonly kind: 'delegated'; readonly to: Address }

// EIP-7702: the designator is 0xef0100 and the address; no contract's code may begin with 0xef (EIP-3541).
const DELEGATION = /^0xef0100([0-9a-f]{40})$/i

/** Reads the answer of `eth_getCode`. */
export function accountKind(code: Hex): AccountKind {
  if (code === '0x') return { kind: 'plain' }
  const to = DELEGATION.exec(code)?.[1]
  return to === undefined ? { kind: 'contract' } : { kind: 'delegated', to: `0x${to}` }
}
