import type { Signature } from './engine.js'
import { newBytes } from './hex.js'
import { EMPTY, EMPTY_LIST, ROOM, WORD, writeHeadBefore, writeNumber, writeWord } from './rlp.js'

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
  chainId: number,
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
