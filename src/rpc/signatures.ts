import {
  type Address,
  formatTransaction,
  keccak256,
  recoverTransactionAddress,
  serializeTransaction,
} from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'

/** Reads who signed what stands in a block. No endpoint can forge it. */
export type Signatures = {
  /**
   * Who signed a transaction, as its own bytes say: `unsigned` for a type that carries no signature of an account
   * (deposits of the OP stack, system transactions); undefined where the fields are not those of its hash, or no account
   * has signed them.
   */
  signerOf(transaction: Readonly<Record<string, unknown>>): Promise<Address | 'unsigned' | undefined>
  /** Who signed a tuple of an EIP-7702 transaction; undefined where no account has, so that the tuple uses nothing. */
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

/** Nodes from before EIP-2718 name no type: what they show is legacy. */
function typed(transaction: Readonly<Record<string, unknown>>): object {
  return { ...transaction, type: transaction.type ?? '0x0' }
}

/** The price that a block paid stands beside the fees of the envelope from EIP-1559 on, and is not signed. */
function gasPriceOf(fields: { type?: unknown; gasPrice?: unknown }): unknown {
  return fields.type === 'legacy' || fields.type === 'eip2930' ? fields.gasPrice : undefined
}

/** Of a legacy transaction the signature says it (EIP-155). A node may name its chain beside one that was signed for none. */
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

/** Recovered from the curve, as every node does. */
export const signatures: Signatures = { signerOf, authorityOf }
