import { type Address, type Hash, type Hex, keccak256 } from 'viem'
import { decodeSigned } from './outside.js'

/** A transaction as the simulated chain knows it. */
export type SimTransaction = {
  readonly hash: Hash
  readonly raw: Hex
  readonly chainId: number
  readonly type: SimTransactionType
  readonly from: Address
  readonly nonce: number
  readonly gas: number
  readonly maxFeeWei: bigint
  readonly tipWei: bigint
  readonly valueWei: bigint
  /** `null` creates a contract. */
  readonly to: Address | null
  readonly data: Hex
  /** Authorizations of the sender for its own account: each adds one to its nonce (EIP-7702). */
  readonly authorizations: number
  /** The last of them ends the delegation. */
  readonly clears?: boolean
}

export type SimTransactionType = 'legacy' | 'eip2930' | 'eip1559' | 'eip7702'

const TYPES: readonly SimTransactionType[] = ['legacy', 'eip2930', 'eip1559', 'eip7702']

// A first byte that no transaction type uses, so that these bytes are never taken for RLP. Fixed widths
// replace RLP, and there is no signature: 88 bytes before the data, so that short calldata fits into one
// round of keccak.
const PREFIX = '0x6e'
const CREATES = 8
const CLEARS = 128
const WIDTHS = {
  flags: 2,
  authorizations: 2,
  chainId: 8,
  nonce: 8,
  gas: 8,
  maxFeeWei: 20,
  tipWei: 20,
  valueWei: 24,
  from: 40,
  to: 40,
} as const

/** The bytes of a transaction that the stub account "signs". */
export function encodeTransaction(tx: Omit<SimTransaction, 'hash' | 'raw'>): Hex {
  if (tx.from.length !== 42 || (tx.to !== null && tx.to.length !== 42)) throw new Error('not an address')
  const flags = TYPES.indexOf(tx.type) | (tx.to === null ? CREATES : 0)
  return `${PREFIX}${hex(flags, WIDTHS.flags)}${hex(tx.authorizations | (tx.clears ? CLEARS : 0), WIDTHS.authorizations)}${hex(
    tx.chainId,
    WIDTHS.chainId,
  )}${hex(tx.nonce, WIDTHS.nonce)}${hex(tx.gas, WIDTHS.gas)}${hex(tx.maxFeeWei, WIDTHS.maxFeeWei)}${hex(
    tx.tipWei,
    WIDTHS.tipWei,
  )}${hex(tx.valueWei, WIDTHS.valueWei)}${tx.from.slice(2)}${tx.to === null ? '0'.repeat(WIDTHS.to) : tx.to.slice(2)}${tx.data.slice(2)}`.toLowerCase() as Hex
}

function hex(value: number | bigint, width: number): string {
  const digits = value.toString(16)
  if (digits.length > width || value < 0) throw new Error(`${value} does not fit ${width} hex digits`)
  return digits.padStart(width, '0')
}

// The same bytes are decoded repeatedly: resent, at another port, after the end of the world.
const decoded = new Map<string, SimTransaction>()
const DECODED_MAX = 4_096
// EIP-1559: signed by outside code, with a real key.
const SIGNED_PREFIX = '0x02'

/** The transaction in some bytes, or `undefined` for bytes that no stub account made. */
export function decodeTransaction(raw: string): SimTransaction | undefined {
  const signed = raw.startsWith(SIGNED_PREFIX)
  if (!signed && !raw.startsWith(PREFIX)) return undefined
  const known = decoded.get(raw)
  if (known !== undefined) return known
  if (decoded.size >= DECODED_MAX) decoded.clear()
  const tx = signed ? decodeSigned(raw as Hex) : decode(raw)
  decoded.set(raw, tx)
  return tx
}

function decode(raw: string): SimTransaction {
  let at = PREFIX.length
  const take = (width: number) => {
    at += width
    return raw.slice(at - width, at)
  }
  const flags = Number.parseInt(take(WIDTHS.flags), 16)
  const authorizations = Number.parseInt(take(WIDTHS.authorizations), 16)
  const chainId = Number.parseInt(take(WIDTHS.chainId), 16)
  const nonce = Number.parseInt(take(WIDTHS.nonce), 16)
  const gas = Number.parseInt(take(WIDTHS.gas), 16)
  const maxFeeWei = BigInt(`0x${take(WIDTHS.maxFeeWei)}`)
  const tipWei = BigInt(`0x${take(WIDTHS.tipWei)}`)
  const valueWei = BigInt(`0x${take(WIDTHS.valueWei)}`)
  const from: Address = `0x${take(WIDTHS.from)}`
  const to: Address = `0x${take(WIDTHS.to)}`
  return {
    // The sender under test hashes its bytes itself, and the chain must compute the same hash.
    hash: keccak256(raw as Hex),
    raw: raw as Hex,
    chainId,
    type: TYPES[flags & 3] ?? 'eip1559',
    from,
    nonce,
    gas,
    maxFeeWei,
    tipWei,
    valueWei,
    to: (flags & CREATES) === 0 ? to : null,
    data: `0x${raw.slice(at)}`,
    authorizations: authorizations & ~CLEARS,
    clears: (authorizations & CLEARS) > 0,
  }
}
