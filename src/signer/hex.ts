import { bytesToHex, type Hex, hexToBytes } from 'viem'

// `Buffer`, which nearly every runtime has, does in one call the work that viem does byte by byte.
const hasBuffer = typeof Buffer === 'function'

export function hexOf(bytes: Uint8Array): Hex {
  if (!hasBuffer) return bytesToHex(bytes)
  if (Buffer.isBuffer(bytes)) return `0x${bytes.toString('hex')}`
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

/**
 * New bytes, which must be written completely. From Node's pool, because native code allocates separate
 * memory for each array whose memory is on V8's heap.
 */
export function newBytes(length: number): Uint8Array {
  return hasBuffer ? Buffer.allocUnsafe(length) : new Uint8Array(length)
}

export function bytesOf(hex: Hex): Uint8Array {
  if (!hasBuffer) return hexToBytes(hex)
  const bytes = Buffer.from(hex.slice(2), 'hex')
  // `Buffer.from` stops silently at the first character that is not hex.
  return 2 * bytes.length + 2 === hex.length ? bytes : hexToBytes(hex)
}
