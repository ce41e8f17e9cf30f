import type { Address } from 'viem'
import type { Signatures } from '../../src/rpc/signatures.js'

const nameIn = (signed: unknown): Address => `0x${String((signed as { r?: unknown }).r).slice(-40)}`

/** Reads the signature of the stub account, which is its address, in place of a recovery. */
export const simSignatures: Signatures = {
  signerOf: async (transaction) => nameIn(transaction),
  authorityOf: async (tuple) => nameIn(tuple),
}
