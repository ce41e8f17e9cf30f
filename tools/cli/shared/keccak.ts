import { keccak256 } from 'viem'
import { sharedEngine } from '../../../src/signer/engine.js'

let hash = (bytes: Uint8Array): Uint8Array => keccak256(bytes, 'bytes')

/** Keccak-256. */
export const keccak = (bytes: Uint8Array): Uint8Array => hash(bytes)

/**
 * Loads native code for it, if that is installed. A large file needs hundreds of thousands of hashes, for the
 * checksums of its addresses and for its ids: in JavaScript they take half of the time.
 */
export async function loadKeccak(): Promise<void> {
  hash = (await sharedEngine())?.keccak ?? hash
}
