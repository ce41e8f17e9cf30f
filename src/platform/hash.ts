import { type Hash, type Hex, keccak256 } from 'viem'

const DIGITS = new TextEncoder().encode('0123456789abcdef')
const ascii = new TextDecoder()

/**
 * The keccak256 hash. viem appends one byte after the other, and V8 stores such a string as a tree with a
 * node for each byte: a hash then needs 900 bytes in place of 90 for as long as it is kept.
 */
export function hashOf(data: Uint8Array | Hex): Hash {
  const codes = [...keccak256(data, 'bytes')].flatMap((byte) => [DIGITS[byte >> 4], DIGITS[byte & 15]])
  return `0x${ascii.decode(Uint8Array.from(codes as number[]))}`
}
