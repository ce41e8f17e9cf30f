// RLP, written in place. Each of these functions writes one item at a position and returns its end.

export const EMPTY = 0x80
export const EMPTY_LIST = 0xc0
/**
 * Bytes reserved before a list for its header, which is known last, and for the type byte of the envelope.
 */
export const ROOM = 8
/** The maximum length of one word (r, s, an amount in wei). */
export const WORD = 33

/** Writes a safe integer without leading zeros. */
export function writeNumber(bytes: Uint8Array, at: number, value: number): number {
  if (value === 0 || isItself(1, value)) {
    bytes[at] = value === 0 ? EMPTY : value
    return at + 1
  }
  const end = at + 1 + bytesIn(value)
  bytes[at] = EMPTY + end - at - 1
  for (let place = end - 1, rest = value; place > at; place--, rest = Math.floor(rest / 256))
    bytes[place] = rest % 256
  return end
}

/** Writes the word at `start` in `from` without leading zeros. */
export function writeWord(bytes: Uint8Array, at: number, from: Uint8Array, start: number): number {
  const end = start + 32
  let first = start
  while (first < end && from[first] === 0) first++
  let to = at
  if (!isItself(end - first, from[first])) bytes[to++] = EMPTY + end - first
  for (let place = first; place < end; place++) bytes[to++] = from[place] as number
  return to
}

/** Writes the bytes of a hex string; returns NaN if it is not a whole number of hex bytes. */
export function writeHex(bytes: Buffer, at: number, hex: string): number {
  const length = hex.length / 2 - 1
  const start = at + headLength(length)
  if (!hex.startsWith('0x') || bytes.write(hex.slice(2), start, 'hex') !== length) return Number.NaN
  if (isItself(length, bytes[start])) {
    bytes[at] = bytes[start] as number
    return at + 1
  }
  writeHeadBefore(bytes, start, length, EMPTY)
  return start + length
}

/** Writes the header of a list or of bytes in front of their start. Returns the start of the header. */
export function writeHeadBefore(
  bytes: Uint8Array,
  start: number,
  length: number,
  kind: typeof EMPTY | typeof EMPTY_LIST,
): number {
  if (length < 56) {
    bytes[start - 1] = kind + length
    return start - 1
  }
  let at = start
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes[--at] = rest % 256
  bytes[at - 1] = kind + 55 + start - at
  return at - 1
}

function headLength(length: number): number {
  return length < 56 ? 1 : 1 + bytesIn(length)
}

function bytesIn(value: number): number {
  let count = 1
  for (let above = 256; above <= value; above *= 256) count++
  return count
}

/** A single low byte is its own encoding. */
function isItself(length: number, first: number | undefined): boolean {
  return length === 1 && first !== undefined && first < EMPTY
}
