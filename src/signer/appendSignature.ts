import type { Signature } from './engine.js'

/**
 * The signed form of an envelope whose unsigned form is there already: a list gets three items more, so that its fields
 * need not be serialised again. `undefined` for forms whose signed bytes are not made that way.
 *
 * EIP-2930, EIP-1559 and EIP-7702 append yParity, r and s; a legacy one has v, r and s where EIP-155's chain id and two
 * empty items stood, or, without a chain id, nothing.
 */
export function appendSignature(
  unsigned: Uint8Array,
  { rs, yParity }: Signature,
  chainId: number,
): Uint8Array | undefined {
  const first = unsigned[0] ?? 0
  const isTyped = first === 1 || first === 2 || first === 4
  const start = payloadStart(unsigned, isTyped ? 1 : 0)
  if (start === undefined) return undefined
  if (isTyped) return signed(unsigned.subarray(start), { v: yParity, rs }, first)
  if (chainId === 0) return signed(unsigned.subarray(start), { v: 27 + yParity, rs })
  const end = unsigned.length - scalarLength(numberBytes(chainId)) - 2
  if (end < start || !endsWithChain(unsigned, end, chainId)) return undefined
  return signed(unsigned.subarray(start, end), { v: chainId * 2 + 35 + yParity, rs })
}

const EMPTY = 0x80

/** Where the inside of the list begins that begins at `at` and reaches to the end. */
function payloadStart(bytes: Uint8Array, at: number): number | undefined {
  const head = bytes[at] ?? 0
  if (head < 0xc0) return undefined
  return at + 1 + (head > 0xf7 ? head - 0xf7 : 0)
}

/** EIP-155: the chain id and two empty items. */
function endsWithChain(unsigned: Uint8Array, at: number, chainId: number): boolean {
  const expected = new Uint8Array(unsigned.length - at).fill(EMPTY)
  writeScalar(expected, 0, numberBytes(chainId))
  return expected.every((byte, index) => unsigned[at + index] === byte)
}

/** The list of these fields and of the signature, behind the byte that says what kind of envelope it is: made at once. */
function signed(fields: Uint8Array, { v, rs }: { v: number; rs: Uint8Array }, type?: number): Uint8Array {
  const scalars = [numberBytes(v), rs.subarray(0, 32), rs.subarray(32)]
  const length = scalars.reduce((sum, bytes) => sum + scalarLength(bytes), fields.length)
  const size = length < 56 ? 0 : 8 - zerosOf(numberBytes(length))
  const typed = type === undefined ? 0 : 1
  const whole = new Uint8Array(typed + 1 + size + length)
  if (type !== undefined) whole[0] = type
  whole[typed] = size === 0 ? 0xc0 + length : 0xf7 + size
  if (size > 0) whole.set(numberBytes(length).subarray(8 - size), typed + 1)
  whole.set(fields, typed + 1 + size)
  let at = typed + 1 + size + fields.length
  for (const bytes of scalars) at = writeScalar(whole, at, bytes)
  return whole
}

// --- RLP of a number: no zeros in front ------------------------------------------------------------------------

function scalarLength(bytes: Uint8Array): number {
  const digits = bytes.length - zerosOf(bytes)
  return digits === 0 || (digits === 1 && (bytes.at(-1) as number) < 0x80) ? 1 : 1 + digits
}

/** Where it ends. */
function writeScalar(into: Uint8Array, at: number, bytes: Uint8Array): number {
  const zeros = zerosOf(bytes)
  const digits = bytes.length - zeros
  if (scalarLength(bytes) === 1) {
    into[at] = digits === 0 ? EMPTY : (bytes.at(-1) as number)
    return at + 1
  }
  into[at] = 0x80 + digits
  into.set(zeros === 0 ? bytes : bytes.subarray(zeros), at + 1)
  return at + 1 + digits
}

function zerosOf(bytes: Uint8Array): number {
  let zeros = 0
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++
  return zeros
}

/** Eight bytes, the highest first. Chain ids are safe integers, and so is twice one of any chain there is. */
function numberBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  for (let at = 7, rest = value; rest > 0; at--, rest = Math.floor(rest / 256)) bytes[at] = rest % 256
  return bytes
}
