import {
  isAddress,
  type SerializeTransactionFn,
  serializeTransaction,
  type TransactionSerializable,
  type TransactionSerializableEIP1559,
} from 'viem'
import { fieldsOf, type Signature } from './engine.js'
import { bytesOf, newBytes } from './hex.js'
import { EMPTY, EMPTY_LIST, ROOM, WORD, writeHeadBefore, writeHex, writeNumber, writeWord } from './rlp.js'

/**
 * The unsigned bytes of a transaction, if they can be made quickly: see `plainEnvelope`, whose next call
 * overwrites them.
 */
export function plainUnsigned(
  transaction: TransactionSerializable,
  serializer: Serializer | undefined,
): Uint8Array | undefined {
  return isPlainSerializer(serializer) ? plainEnvelope(transaction) : undefined
}

/** The unsigned bytes of any transaction, from its chain's serializer. */
export async function unsignedEnvelope(
  transaction: TransactionSerializable,
  serializer: Serializer | undefined,
): Promise<Uint8Array> {
  // The network form of a blob transaction contains data that is not signed.
  const isBlob = transaction.type === 'eip4844'
  const unsigned = isBlob ? { ...transaction, sidecars: false } : transaction
  return bytesOf(await writerOf(serializer)(unsigned as never))
}

/** The signed bytes of a transaction, made from its unsigned bytes, so that it is serialised only once. */
export async function signedEnvelope(
  unsigned: Uint8Array,
  signature: Signature,
  { transaction, serializer }: Written,
): Promise<Uint8Array> {
  const { r, chainId } = transaction as { r?: unknown; chainId?: number }
  // If the transaction already has a signature, the serializer includes it, so a signature cannot be appended
  // to its bytes.
  const signed = r === undefined ? appendSignature(unsigned, signature, chainId) : undefined
  return signed ?? bytesOf(await writerOf(serializer)(transaction as never, fieldsOf(signature) as never))
}

/** The transaction, and the serializer of its chain. */
type Written = {
  readonly transaction: TransactionSerializable
  readonly serializer: Serializer | undefined
}

function writerOf(serializer: Serializer | undefined): Serializer {
  return serializer ?? (serializeTransaction as Serializer)
}

/**
 * The signed form of an envelope, made from its unsigned form: the list gets three more items, so its fields
 * need not be serialised again. `undefined` for forms whose signed bytes are made differently.
 *
 * EIP-2930, EIP-1559 and EIP-7702 append yParity, r and s. A legacy envelope has v, r and s in place of
 * EIP-155's chain id and two empty items; without a chain id they are appended.
 */
export function appendSignature(
  unsigned: Uint8Array,
  { rs, yParity }: Signature,
  chainId = 0,
): Uint8Array | undefined {
  const first = unsigned[0] ?? 0
  const isTyped = first === 1 || first === 2 || first === 4
  const start = payloadStart(unsigned, isTyped ? 1 : 0)
  if (start === undefined) return undefined
  if (isTyped) return signed(unsigned.subarray(start), { v: yParity, rs }, first)
  if (chainId === 0) return signed(unsigned.subarray(start), { v: 27 + yParity, rs })
  const tail = chainTail(chainId)
  const end = unsigned.length - tail.length
  if (end < start || !tail.every((byte, index) => unsigned[end + index] === byte)) return undefined
  return signed(unsigned.subarray(start, end), { v: chainId * 2 + 35 + yParity, rs })
}

/** The start of the payload of the list that begins at `at` and reaches to the end. */
function payloadStart(bytes: Uint8Array, at: number): number | undefined {
  const head = bytes[at] ?? 0
  if (head < EMPTY_LIST) return undefined
  return at + 1 + (head > 0xf7 ? head - 0xf7 : 0)
}

/** EIP-155: the chain id and two empty items. */
function chainTail(chainId: number): Uint8Array {
  const bytes = new Uint8Array(WORD + 2)
  const end = writeNumber(bytes, 0, chainId)
  bytes.fill(EMPTY, end, end + 2)
  return bytes.subarray(0, end + 2)
}

/** The list of these fields and the signature, after the type byte of the envelope, written in one pass. */
function signed(fields: Uint8Array, { v, rs }: { v: number; rs: Uint8Array }, type?: number): Uint8Array {
  const bytes = newBytes(ROOM + fields.length + 3 * WORD)
  bytes.set(fields, ROOM)
  let end = writeNumber(bytes, ROOM + fields.length, v)
  end = writeWord(bytes, end, rs, 0)
  end = writeWord(bytes, end, rs, 32)
  let start = writeHeadBefore(bytes, ROOM, end - ROOM, EMPTY_LIST)
  if (type !== undefined) bytes[--start] = type
  return bytes.subarray(start, end)
}

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
function plainEnvelope(transaction: TransactionSerializable): Uint8Array | undefined {
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

export type Serializer = SerializeTransactionFn<TransactionSerializable>

const SIGNATURE = { r: `0x${'12'.repeat(32)}`, s: `0x${'34'.repeat(32)}`, yParity: 1 } as const
const SAMPLES: readonly TransactionSerializable[] = [
  { type: 'eip1559', chainId: 8453 },
  {
    type: 'eip1559',
    chainId: 1,
    nonce: 200,
    gas: 21_000n,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 1n,
    to: `0x${'a1'.repeat(20)}`,
    value: 10n ** 20n,
    data: `0x${'07'.repeat(300)}`,
  },
]

// Each serializer is checked once, because a chain's serializer does not change while the program runs.
const tried = new WeakMap<Serializer, boolean>()

/**
 * True if a chain's own serializer returns the same bytes as viem's for standard envelopes. Such serializers
 * exist for types that only this chain has (deposits of the OP stack, CIP-64 of Celo), which they recognise
 * by their own fields.
 */
function isPlainSerializer(serializer: Serializer | undefined): boolean {
  if (serializer === undefined) return true
  const before = tried.get(serializer)
  if (before !== undefined) return before
  const isPlain = SAMPLES.every((sample) => writesAsViem(serializer, sample))
  tried.set(serializer, isPlain)
  return isPlain
}

function writesAsViem(serializer: Serializer, sample: TransactionSerializable): boolean {
  try {
    return [undefined, SIGNATURE].every(
      (signature) => serializer(sample, signature) === serializeTransaction(sample, signature),
    )
  } catch {
    return false
  }
}
