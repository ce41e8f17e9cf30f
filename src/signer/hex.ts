import { bytesToHex, type Hex, hexToBytes } from 'viem'

// What nearly every runtime has does in one call what viem does byte by byte.
const hasBuffer = typeof Buffer === 'function'

export function hexOf(bytes: Uint8Array): Hex {
  if (!hasBuffer) return bytesToHex(bytes)
  if (Buffer.isBuffer(bytes)) return `0x${bytes.toString('hex')}`
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

/** To be written whole. Of Node's pool: native code gives each array that has its memory in V8's heap some of its own. */
export function newBytes(length: number): Uint8Array {
  return hasBuffer ? Buffer.allocUnsafe(length) : new Uint8Array(length)
}

export function bytesOf(hex: Hex): Uint8Array {
  if (!hasBuffer) return hexToBytes(hex)
  const bytes = Buffer.from(hex.slice(2), 'hex')
  // It ends at the first thing that is no hex, and says nothing.
  return 2 * bytes.length + 2 === hex.length ? bytes : hexToBytes(hex)
}
