import { isAddress, type TransactionSerializable, type TransactionSerializableEIP1559 } from 'viem'
import { EMPTY_LIST, ROOM, WORD, writeHeadBefore, writeHex, writeNumber } from './rlp.js'

type Plain = Pick<
  TransactionSerializableEIP1559,
  | 'type'
  | 'chainId'
  | 'nonce'
  | 'maxPriorityFeePerGas'
  | 'maxFeePerGas'
  | 'gas'
  | 'to'
  | 'value'
  | 'data'
  | 'accessList'
>

const FIELDS: ReadonlySet<string> = new Set<keyof Plain>([
  'type',
  'chainId',
  'nonce',
  'maxPriorityFeePerGas',
  'maxFeePerGas',
  'gas',
  'to',
  'value',
  'data',
  'accessList',
])
// viem's checksum check takes longer than all other steps here.
const LOWER_ADDRESS = /^0x[0-9a-f]{40}$/
const EIP1559 = 0x02
const LONGEST_DATA = 2 ** 24
const END_OF_WORDS = 2n ** 256n

// One shared buffer: its content is signed before the next envelope is written.
let buffer = typeof Buffer === 'function' ? Buffer.alloc(1_024) : undefined

/**
 * The unsigned bytes of an EIP-1559 envelope without an access list, the form of nearly every transaction.
 * They equal the bytes of viem's serializer, without the 10 kB of objects that it creates for each.
 *
 * The bytes are valid until the next call, which overwrites them.
 *
 * @returns undefined for any other envelope, and if a field is not clearly valid, so that viem reports the
 *   error
 */
export function plainEnvelope(transaction: TransactionSerializable): Uint8Array | undefined {
  if (!isPlain(transaction)) return undefined
  const { to, data } = transaction
  const bytes = bufferFor(ROOM + FIELDS.size * WORD + (data?.length ?? 0) / 2)
  if (bytes === undefined) return undefined
  let at = writeNumber(bytes, ROOM, transaction.chainId)
  at = writeNumber(bytes, at, transaction.nonce ?? 0)
  at = writeWei(bytes, at, transaction.maxPriorityFeePerGas)
  at = writeWei(bytes, at, transaction.maxFeePerGas)
  at = writeWei(bytes, at, transaction.gas)
  const addressed = writeHex(bytes, at, to ?? '0x')
  const valued = writeWei(bytes, addressed, transaction.value)
  const end = writeHex(bytes, valued, data ?? '0x')
  if (Number.isNaN(end)) return undefined
  bytes[end] = EMPTY_LIST
  const start = writeHeadBefore(bytes, ROOM, end + 1 - ROOM, EMPTY_LIST) - 1
  bytes[start] = EIP1559
  return bytes.subarray(start, end + 1)
}

function bufferFor(size: number): Buffer | undefined {
  if (buffer && buffer.length < size) buffer = Buffer.alloc(2 * size)
  return buffer
}

// --- plain transactions
// ----------------------------------------------------------------------------------------

function isPlain(transaction: TransactionSerializable): transaction is Plain & { type: 'eip1559' } {
  if (transaction.type !== 'eip1559') return false
  for (const field in transaction) if (!FIELDS.has(field)) return false
  const { chainId, nonce = 0, gas = 0n, value = 0n, to, data = '0x' } = transaction
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, accessList } = transaction
  return (
    Number.isSafeInteger(chainId) &&
    chainId > 0 &&
    Number.isSafeInteger(nonce) &&
    nonce >= 0 &&
    isWord(gas) &&
    isWord(value) &&
    isWord(maxFeePerGas) &&
    isWord(maxPriorityFeePerGas) &&
    maxPriorityFeePerGas <= maxFeePerGas &&
    (to === undefined || to === null || LOWER_ADDRESS.test(to) || isAddress(to)) &&
    accessList === undefined &&
    typeof data === 'string' &&
    data.length <= LONGEST_DATA
  )
}

function isWord(value: unknown): boolean {
  return typeof value === 'bigint' && value >= 0n && value < END_OF_WORDS
}

// --- amounts
// ---------------------------------------------------------------------------------------------------

function writeWei(bytes: Buffer, at: number, value = 0n): number {
  if (value <= Number.MAX_SAFE_INTEGER) return writeNumber(bytes, at, Number(value))
  const digits = value.toString(16)
  return writeHex(bytes, at, digits.length % 2 === 0 ? `0x${digits}` : `0x0${digits}`)
}
