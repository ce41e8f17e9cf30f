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
  const [first = 0] = unsigned
  const points = [scalar(rs.subarray(0, 32)), scalar(rs.subarray(32))]
  if (first === 1 || first === 2 || first === 4) {
    const fields = payloadOf(unsigned, 1)
    return fields && list([fields, scalar(numberBytes(yParity)), ...points], first)
  }
  const fields = first >= 0xc0 ? payloadOf(unsigned, 0) : undefined
  if (fields === undefined) return undefined
  if (chainId === 0) return list([fields, scalar(numberBytes(27 + yParity)), ...points])
  const tail = concat([scalar(numberBytes(chainId)), EMPTY, EMPTY])
  const kept = fields.length - tail.length
  if (kept < 0 || !tail.every((byte, index) => fields[kept + index] === byte)) return undefined
  return list([fields.subarray(0, kept), scalar(numberBytes(chainId * 2 + 35 + yParity)), ...points])
}

const EMPTY = new Uint8Array([0x80])

/** What is inside the list that begins at `at` and reaches to the end. */
function payloadOf(bytes: Uint8Array, at: number): Uint8Array | undefined {
  const head = bytes[at] ?? 0
  if (head < 0xc0) return undefined
  const start = at + 1 + (head > 0xf7 ? head - 0xf7 : 0)
  return bytes.subarray(start)
}

/** RLP of a number: no zeros in front. */
function scalar(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length && bytes[start] === 0) start++
  const digits = bytes.subarray(start)
  if (digits.length === 0) return EMPTY
  return digits.length === 1 && (digits[0] as number) < 0x80
    ? digits
    : concat([new Uint8Array([0x80 + digits.length]), digits])
}

/** RLP of a list, behind the byte that says what kind of envelope it is. */
function list(items: readonly Uint8Array[], type?: number): Uint8Array {
  const length = items.reduce((sum, item) => sum + item.length, 0)
  const size = length < 56 ? undefined : trimmed(numberBytes(length))
  const head = size === undefined ? [0xc0 + length] : [0xf7 + size.length, ...size]
  return concat([new Uint8Array(type === undefined ? head : [type, ...head]), ...items])
}

/** Eight bytes, the highest first. Chain ids are safe integers, and so is twice one of any chain there is. */
function numberBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

function trimmed(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(bytes.findIndex((byte) => byte !== 0))
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
