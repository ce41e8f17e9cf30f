import {
  type Hex,
  keccak256,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializable,
} from 'viem'
import { hashAuthorization } from 'viem/utils'

/** 32-byte words for the `ecrecover` precompile: digest, v (27 or 28), r, s. */
export type SignatureRow = {
  readonly digest: Hex
  readonly yParity: number
  readonly r: Hex
  readonly s: Hex
}

/**
 * A signed transaction with all fields that a pool reads, except its sender, which needs a signature
 * recovery.
 */
export type DecodedTx = {
  readonly raw: Hex
  readonly hash: Hex
  readonly type: 'legacy' | 'eip2930' | 'eip1559' | 'eip7702'
  readonly chainId: number | undefined
  readonly nonce: number
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly gasPrice: bigint | undefined
  readonly to: Hex | undefined
  readonly value: bigint
  readonly data: Hex
  readonly accessList: readonly { readonly address: Hex; readonly storageKeys: readonly Hex[] }[]
  readonly authorizations: readonly SignatureRow[]
  readonly signature: SignatureRow
}

/**
 * Decodes signed bytes. Returns undefined for an unsupported transaction type: chains of this kind do not
 * carry blob transactions. A transaction that viem refuses to parse (a tip above the fee cap, for example) is
 * not decoded either.
 */
export function decodeTx(raw: unknown): DecodedTx | undefined {
  if (typeof raw !== 'string' || !/^0x[0-9a-f]+$/i.test(raw)) return undefined
  try {
    return decoded(raw as Hex)
  } catch {
    return undefined
  }
}

function decoded(raw: Hex): DecodedTx | undefined {
  const parsed = parseTransaction(raw) as TransactionSerializable & { type: string; v?: bigint }
  if (parsed.type === 'eip4844' || parsed.r === undefined || parsed.s === undefined) return undefined
  const { r, s, v, yParity, ...unsigned } = parsed
  const price = unsigned.gasPrice
  return {
    raw,
    hash: keccak256(raw),
    type: parsed.type as DecodedTx['type'],
    chainId: unsigned.chainId,
    nonce: unsigned.nonce ?? 0,
    gas: unsigned.gas ?? 0n,
    maxFeePerGas: unsigned.maxFeePerGas ?? price ?? 0n,
    maxPriorityFeePerGas: unsigned.maxPriorityFeePerGas ?? price ?? 0n,
    gasPrice: price,
    to: unsigned.to ?? undefined,
    value: unsigned.value ?? 0n,
    data: unsigned.data ?? '0x',
    accessList: unsigned.accessList ?? [],
    authorizations: (unsigned.authorizationList ?? []).map((authorization) => ({
      digest: hashAuthorization(authorization),
      yParity: authorization.yParity ?? 0,
      r: authorization.r,
      s: authorization.s,
    })),
    signature: {
      digest: keccak256(serializeTransaction(unsigned as TransactionSerializable)),
      yParity: yParity ?? parityOf(v),
      r,
      s,
    },
  }
}

/** Legacy signatures carry v: 27 or 28, or with EIP-155 chain id × 2 + 35 or 36. Odd values mean parity 0. */
function parityOf(v: bigint | undefined): number {
  return v === undefined || v % 2n === 1n ? 0 : 1
}
