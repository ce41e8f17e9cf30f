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
  const end = unsigned.length - scalarLength(digitsOf(chainId)) - 2
  if (end < start || !endsWithChain(unsigned, end, chainId)) return undefined
  return signed(unsigned.subarray(start, end), { v: chainId * 2 + 35 + yParity, rs })
}

const EMPTY = 0x80
const NONE = new Uint8Array()

/** Where the inside of the list begins that begins at `at` and reaches to the end. */
function payloadStart(bytes: Uint8Array, at: number): number | undefined {
  const head = bytes[at] ?? 0
  if (head < 0xc0) return undefined
  return at + 1 + (head > 0xf7 ? head - 0xf7 : 0)
}

/** EIP-155: the chain id and two empty items. */
function endsWithChain(unsigned: Uint8Array, at: number, chainId: number): boolean {
  const expected = new Uint8Array(unsigned.length - at).fill(EMPTY)
  writeScalar(expected, 0, digitsOf(chainId))
  return expected.every((byte, index) => unsigned[at + index] === byte)
}

/** The list of these fields and of the signature, behind the byte that says what kind of envelope it is: made at once. */
function signed(fields: Uint8Array, { v, rs }: { v: number; rs: Uint8Array }, type?: number): Uint8Array {
  const scalars = [digitsOf(v), trimmed(rs.subarray(0, 32)), trimmed(rs.subarray(32))]
  const length = scalars.reduce((sum, digits) => sum + scalarLength(digits), fields.length)
  const size = length < 56 ? NONE : digitsOf(length)
  const typed = type === undefined ? 0 : 1
  const whole = new Uint8Array(typed + 1 + size.length + length)
  if (type !== undefined) whole[0] = type
  whole[typed] = size.length === 0 ? 0xc0 + length : 0xf7 + size.length
  whole.set(size, typed + 1)
  whole.set(fields, typed + 1 + size.length)
  let at = typed + 1 + size.length + fields.length
  for (const digits of scalars) at = writeScalar(whole, at, digits)
  return whole
}

// --- RLP of a number: no zeros in front ------------------------------------------------------------------------

function scalarLength(digits: Uint8Array): number {
  return digits.length === 0 || isItself(digits) ? 1 : 1 + digits.length
}

/** Where it ends. */
function writeScalar(into: Uint8Array, at: number, digits: Uint8Array): number {
  const head = isItself(digits) ? 0 : 1
  if (head === 1) into[at] = EMPTY + digits.length
  into.set(digits, at + head)
  return at + head + digits.length
}

/** A byte that low stands for itself. */
function isItself(digits: Uint8Array): boolean {
  return digits.length === 1 && (digits[0] as number) < EMPTY
}

function trimmed(bytes: Uint8Array): Uint8Array {
  let zeros = 0
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++
  return zeros === 0 ? bytes : bytes.subarray(zeros)
}

/** The highest first. Chain ids are safe integers, and so is twice one of any chain there is. */
function digitsOf(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  for (let at = 7, rest = value; rest > 0; at--, rest = Math.floor(rest / 256)) bytes[at] = rest % 256
  return trimmed(bytes)
}
