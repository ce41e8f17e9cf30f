import type { Chain, Hex } from 'viem'
import { decodeData, decodeHash, decodeObject, decodeQuantity } from '../codec.js'
import { malformed } from '../errors.js'

type Raw = Readonly<Record<string, unknown>>

type Decode = (value: unknown, method: string, what: string) => unknown

/** The decoder of each known field of an answer. */
export type Fields = Readonly<Record<string, Decode>>

/** The same decoder for several fields. */
function all(decode: Decode, ...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, decode]))
}

/**
 * Decodes the known fields that the answer has. A field that is null becomes undefined.
 *
 * @param of the object in messages, for example ` of a receipt`
 * @throws a typed error that names the method and the field
 */
export function decodeFields(raw: Raw, fields: Fields, method: string, of = ''): Record<string, unknown> {
  const decoded: Record<string, unknown> = {}
  for (const [name, decode] of Object.entries(fields)) {
    if (!(name in raw)) continue
    const value = raw[name]
    decoded[name] = isNone(value) ? undefined : decode(value, method, `${name}${of}`)
  }
  return decoded
}

export function isNone(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

/** An array whose items have one decoder. */
function listOf(decode: Decode): Decode {
  return (value, method, what) =>
    decodeArray(value, method, what).map((item) => decode(item, method, `an item of ${what}`))
}

export function decodeArray(value: unknown, method: string, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw malformed(method, `${what} is not an array`)
}

/** An object with known fields. Its values stay as the node returned them, as in viem. */
function objectOf(fields: Fields): Decode {
  return (value, method, what) => {
    const raw = decodeObject(value, method, what)
    decodeFields(raw, fields, method, ` of ${what}`)
    return raw
  }
}

/**
 * The 8 bytes of a block's nonce. Base's flashblocks RPC documents `0x0` for its pending block
 * (crates/flashblocks-rpc/spec.md of base/base).
 */
function decodeBlockNonce(value: unknown, method: string, what: string): Hex {
  if (typeof value === 'string' && /^0x[0-9a-f]{0,16}$/i.test(value))
    return `0x${value.slice(2).toLowerCase().padStart(16, '0')}`
  throw malformed(method, `${what} is not 8 bytes of hex`)
}

/** Seconds since the epoch. anvil 1.7 shows those of a receipt as a number (checked on a running node). */
function decodeSeconds(value: unknown, method: string, what: string): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  return decodeQuantity(value, method, what)
}

/** Base since its upgrade Denim: milliseconds since the epoch, as a quantity. Optional in each answer. */
export const MILLISECONDS = all(decodeQuantity, 'timestampMs', 'blockTimestampMs')

const ACCESS = objectOf({ address: decodeData, storageKeys: listOf(decodeHash) })
const AUTHORIZATION = objectOf({
  address: decodeData,
  ...all(decodeQuantity, 'chainId', 'nonce', 'yParity', 'v', 'r', 's'),
})

/** Fields of transactions of the types 0 to 4, and of deposits of the OP stack (type 0x7e). */
export const TRANSACTION: Fields = {
  ...all(decodeQuantity, 'type', 'chainId', 'nonce', 'gas', 'gasPrice', 'maxFeePerGas'),
  ...all(decodeQuantity, 'maxPriorityFeePerGas', 'maxFeePerBlobGas', 'value'),
  ...all(decodeQuantity, 'v', 'yParity', 'r', 's'),
  ...all(decodeQuantity, 'blockNumber', 'transactionIndex'),
  blockTimestamp: decodeSeconds,
  ...all(decodeQuantity, 'mint', 'depositReceiptVersion'),
  ...all(decodeHash, 'blockHash', 'sourceHash'),
  ...all(decodeData, 'from', 'to', 'input'),
  accessList: listOf(ACCESS),
  authorizationList: listOf(AUTHORIZATION),
  blobVersionedHashes: listOf(decodeHash),
  ...MILLISECONDS,
}

export const LOG: Fields = {
  ...all(decodeQuantity, 'blockNumber', 'logIndex', 'transactionIndex'),
  blockTimestamp: decodeSeconds,
  ...all(decodeHash, 'blockHash', 'transactionHash'),
  ...all(decodeData, 'address', 'data'),
  topics: listOf(decodeHash),
  ...MILLISECONDS,
}

export const RECEIPT: Fields = {
  ...all(decodeQuantity, 'blockNumber', 'transactionIndex', 'type'),
  blockTimestamp: decodeSeconds,
  ...all(decodeQuantity, 'cumulativeGasUsed', 'effectiveGasPrice', 'blobGasUsed', 'blobGasPrice'),
  ...all(decodeQuantity, 'l1Fee', 'l1GasPrice', 'l1GasUsed', 'depositNonce', 'depositReceiptVersion'),
  ...all(decodeHash, 'blockHash', 'root'),
  ...all(decodeData, 'from', 'to', 'contractAddress', 'logsBloom'),
  ...MILLISECONDS,
}

const WITHDRAWAL = objectOf({
  ...all(decodeQuantity, 'index', 'validatorIndex', 'amount'),
  address: decodeData,
})

/** Fields of a block that some nodes omit or set to null in a pending block, or that came with a fork. */
export const BLOCK: Fields = {
  ...all(decodeQuantity, 'difficulty', 'totalDifficulty', 'size', 'baseFeePerGas'),
  ...all(decodeQuantity, 'blobGasUsed', 'excessBlobGas'),
  ...all(decodeHash, 'sha3Uncles', 'transactionsRoot', 'stateRoot', 'receiptsRoot', 'mixHash'),
  ...all(decodeHash, 'withdrawalsRoot', 'parentBeaconBlockRoot', 'requestsHash'),
  ...all(decodeData, 'logsBloom', 'miner', 'extraData'),
  nonce: decodeBlockNonce,
  uncles: listOf(decodeHash),
  withdrawals: listOf(WITHDRAWAL),
  ...MILLISECONDS,
}

export type Formatters = NonNullable<Chain['formatters']>

/**
 * Applies the formatter of a chain, or viem's own. Fields that it does not know stay as the node returned
 * them.
 */
export function formatWith(
  format: (raw: never, action?: string) => unknown,
  raw: Raw,
  method: string,
  what: string,
): Raw {
  try {
    return format(raw as never) as Raw
  } catch {
    // The formatter of a chain may expect fields that the answer lacks.
    throw malformed(method, `${what} does not fit the formatter of the chain`)
  }
}
