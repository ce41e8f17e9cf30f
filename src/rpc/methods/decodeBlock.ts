import type { Hex } from 'viem'
import {
  decodeData,
  decodeHash,
  decodeHashes,
  decodeHashOrNull,
  decodeObject,
  decodeQuantity,
} from '../codec.js'
import { malformed } from '../errors.js'

/** A transaction as the node answered it: only its hash is checked. */
export type BlockTransaction = { readonly hash: Hex; readonly [field: string]: unknown }

/** A block: documented fields decoded, any others as they came. */
export type Block<full extends boolean = boolean> = {
  /** `null` where a node gives its pending block none. */
  readonly number: bigint | null
  /** `null` where the pending block has none or 32 zero bytes; else the hash of the partial block. */
  readonly hash: Hex | null
  readonly parentHash: Hex
  /** Seconds since the epoch. */
  readonly timestamp: bigint
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  readonly transactions: full extends true ? readonly BlockTransaction[] : readonly Hex[]
  readonly difficulty?: bigint | undefined
  /** Bytes. Missing on pending blocks of some nodes. */
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

// Fields that some nodes leave out or set to null in a pending block, or that came with a fork: geth blanks nonce,
// miner and more there (internal/ethapi, RPCMarshalBlock of a pending block).
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
 * Strict on the type of what is there and on what must be there; tolerant of what pending blocks lack.
 * @throws a typed error that names the method and the field.
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
