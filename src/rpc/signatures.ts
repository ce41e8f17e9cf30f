import {
  type Address,
  formatTransaction,
  keccak256,
  recoverTransactionAddress,
  serializeTransaction,
} from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'

/** Reads the signers of block contents. No endpoint can forge them. */
export type Signatures = {
  /**
   * The signer of a transaction by its own bytes. `unsigned` for a type without an account signature
   * (deposits of the OP stack, system transactions). Undefined if the fields do not match the hash, or if no
   * account signed them.
   */
  signerOf(transaction: Readonly<Record<string, unknown>>): Promise<Address | 'unsigned' | undefined>
  /**
   * The signer of a tuple of an EIP-7702 transaction. Undefined if no account signed it, so that the tuple
   * uses no nonce.
   */
  authorityOf(tuple: unknown): Promise<Address | undefined>
}

// Legacy, EIP-2930, EIP-1559, EIP-4844, EIP-7702: the types that viem serializes.
const SIGNED_TYPES: ReadonlySet<unknown> = new Set([undefined, null, '0x0', '0x1', '0x2', '0x3', '0x4'])

const signerOf: Signatures['signerOf'] = async (transaction) => {
  if (!SIGNED_TYPES.has(transaction.type)) return 'unsigned'
  try {
    const {
      r,
      s,
      v,
      yParity,
      input,
      blockHash: _,
      ...fields
    } = formatTransaction(typed(transaction) as never)
    const signature = yParity === undefined ? { r, s, v } : { r, s, v, yParity }
    const unsigned = { ...fields, data: input, gasPrice: gasPriceOf(fields), chainId: chainIdOf(fields, v) }
    const serializedTransaction = serializeTransaction(unsigned as never, signature as never)
    if (keccak256(serializedTransaction) !== String(transaction.hash).toLowerCase()) return undefined
    return await recoverTransactionAddress({ serializedTransaction: serializedTransaction as never })
  } catch {
    return undefined
  }
}

/** Nodes from before EIP-2718 name no type; their transactions are legacy. */
function typed(transaction: Readonly<Record<string, unknown>>): object {
  return { ...transaction, type: transaction.type ?? '0x0' }
}

/**
 * From EIP-1559 on, nodes show the price paid in the block beside the fees of the envelope. It is not signed.
 */
function gasPriceOf(fields: { type?: unknown; gasPrice?: unknown }): unknown {
  return fields.type === 'legacy' || fields.type === 'eip2930' ? fields.gasPrice : undefined
}

/**
 * For a legacy transaction the signature contains the chain id (EIP-155). A node may show its chain id beside
 * a transaction that was signed without one.
 */
function chainIdOf(fields: { type?: unknown; chainId?: unknown }, v: bigint | undefined): unknown {
  return fields.type === 'legacy' && (v === 27n || v === 28n) ? undefined : fields.chainId
}

// EIP-7702, behavior: "s value must be less than or equal to secp256k1n/2, as specified in EIP-2".
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

async function authorityOf(tuple: unknown): Promise<Address | undefined> {
  try {
    const { chainId, nonce, address, r, s, yParity, v } = tuple as Record<string, string>
    const parity = Number(yParity ?? v)
    if (BigInt(s as string) > S_MAX) return undefined
    return await recoverAuthorizationAddress({
      authorization: {
        chainId: Number(chainId),
        nonce: Number(nonce),
        address: address as Address,
        r: r as never,
        s: s as never,
        yParity: parity,
      },
    })
  } catch {
    return undefined
  }
}

/** Recovers the signers on the curve, as every node does. */
export const signatures: Signatures = { signerOf, authorityOf }
