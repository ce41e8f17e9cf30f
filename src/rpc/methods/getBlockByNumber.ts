import type { Hex } from 'viem'
import { invalid } from '../../errors/invalid.js'
import {
  type BlockSelector,
  decodeData,
  decodeHash,
  decodeHashes,
  decodeHashOrNull,
  decodeObject,
  decodeQuantity,
  encodeBlock,
} from '../codec.js'
import { malformed } from '../errors.js'
import { type ReadOptions, type ReadSource, readOne } from './source.js'

const METHOD = 'eth_getBlockByNumber'

export type GetBlockByNumberParameters<full extends boolean = false> = ReadOptions & {
  /** A number (hex, bigint or number) or a tag. `pending` is the block being built. */
  readonly block: BlockSelector
  /** Full transaction objects in place of hashes. @default false */
  readonly fullTransactions?: full | undefined
}

/** Described in `public.ts`. */
export async function getBlockByNumber<full extends boolean = false>(
  source: ReadSource,
  parameters: GetBlockByNumberParameters<full>,
): Promise<Block<full> | null> {
  const { block: selector, fullTransactions = false, ...options } = parameters
  const block = encodeBlock(selector)
  if (typeof fullTransactions !== 'boolean') throw invalid('fullTransactions', fullTransactions, 'a boolean')
  return readOne(source, { method: METHOD, params: [block, fullTransactions] }, options, (result) => {
    if (result === null) return null
    const decoded = decodeBlock(result, METHOD, fullTransactions as full)
    if (block !== 'pending') checkSealed(decoded, block)
    return decoded
  })
}

/**
 * Checks that only a pending block lacks number and hash, and that a block requested by number has that
 * number.
 */
function checkSealed({ number, hash }: Block, asked: string): void {
  if (number === null) throw malformed(METHOD, 'number is missing from a sealed block')
  if (hash === null) throw malformed(METHOD, 'hash is missing from a sealed block')
  if (asked.startsWith('0x') && number !== BigInt(asked)) {
    throw malformed(METHOD, `number is ${number}, not that of the requested block`)
  }
}

/** A transaction as the node returned it. Only its hash is checked. */
type BlockTransaction = { readonly hash: Hex; readonly [field: string]: unknown }

/** A block: documented fields are decoded, others are left as the node returned them. */
export type Block<full extends boolean = boolean> = {
  /** `null` if the node gives its pending block no number. */
  readonly number: bigint | null
  /** `null` if the pending block has no hash or 32 zero bytes; otherwise the hash of the partial block. */
  readonly hash: Hex | null
  readonly parentHash: Hex
  /** Seconds since the epoch. */
  readonly timestamp: bigint
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  readonly transactions: full extends true ? readonly BlockTransaction[] : readonly Hex[]
  readonly difficulty?: bigint | undefined
  /** The size in bytes. Missing in pending blocks of some nodes. */
  readonly size?: bigint | undefined
  readonly baseFeePerGas?: bigint | undefined
  readonly blobGasUsed?: bigint | undefined
  readonly excessBlobGas?: bigint | undefined
  readonly nonce?: Hex | undefined
  readonly sha3Uncles?: Hex | undefined
  readonly logsBloom?: Hex | undefined
  readonly transactionsRoot?: Hex | undefined
  readonly stateRoot?: Hex | undefined
  readonly receiptsRoot?: Hex | undefined
  readonly miner?: Hex | undefined
  readonly mixHash?: Hex | undefined
  readonly extraData?: Hex | undefined
  readonly withdrawalsRoot?: Hex | undefined
  readonly parentBeaconBlockRoot?: Hex | undefined
  readonly requestsHash?: Hex | undefined
  readonly uncles?: readonly unknown[] | undefined
  readonly withdrawals?: readonly unknown[] | undefined
  readonly [field: string]: unknown
}

// Fields that some nodes omit or set to null in a pending block, or that came with a fork. geth blanks nonce,
// miner and others there (internal/ethapi, RPCMarshalBlock of a pending block).
const OPTIONAL = {
  quantity: ['difficulty', 'size', 'baseFeePerGas', 'blobGasUsed', 'excessBlobGas'],
  hash: [
    'sha3Uncles',
    'transactionsRoot',
    'stateRoot',
    'receiptsRoot',
    'mixHash',
    'withdrawalsRoot',
    'parentBeaconBlockRoot',
    'requestsHash',
  ],
  data: ['nonce', 'logsBloom', 'miner', 'extraData'],
  array: ['uncles', 'withdrawals'],
} as const

/**
 * Decodes a block. Strict about required fields and about the type of each field; tolerates fields that
 * pending blocks lack.
 *
 * @throws a typed error that names the method and the field
 */
export function decodeBlock<full extends boolean>(result: unknown, method: string, full: full): Block<full> {
  const raw = decodeObject(result, method)
  const block = {
    ...raw,
    number: isNone(raw.number) ? null : decodeQuantity(raw.number, method, 'number'),
    hash: decodeHashOrNull(raw.hash, method, 'hash'),
    parentHash: decodeHash(raw.parentHash, method, 'parentHash'),
    timestamp: decodeQuantity(raw.timestamp, method, 'timestamp'),
    gasLimit: decodeQuantity(raw.gasLimit, method, 'gasLimit'),
    gasUsed: decodeQuantity(raw.gasUsed, method, 'gasUsed'),
    transactions: full ? decodeFull(raw.transactions, method) : decodeHashes(raw.transactions, method),
    ...decodeOptional(raw, method),
  }
  return block as unknown as Block<full>
}

function isNone(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

function decodeOptional(raw: Readonly<Record<string, unknown>>, method: string): Record<string, unknown> {
  const decoded: Record<string, unknown> = {}
  const each = (
    fields: readonly string[],
    decode: (value: unknown, method: string, what: string) => unknown,
  ) => {
    for (const field of fields) {
      if (field in raw) decoded[field] = isNone(raw[field]) ? undefined : decode(raw[field], method, field)
    }
  }
  each(OPTIONAL.quantity, decodeQuantity)
  each(OPTIONAL.hash, decodeHash)
  each(OPTIONAL.data, decodeData)
  each(OPTIONAL.array, decodeArray)
  return decoded
}

function decodeArray(value: unknown, method: string, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw malformed(method, `${what} is not an array`)
}

function decodeFull(transactions: unknown, method: string): readonly BlockTransaction[] {
  return decodeArray(transactions, method, 'transactions').map((item) => {
    const transaction = decodeObject(item, method, 'a transaction')
    return { ...transaction, hash: decodeHash(transaction.hash, method, 'a transaction hash') }
  })
}
