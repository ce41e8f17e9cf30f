import { type Hex, keccak256, parseTransaction } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { GAS } from './items.js'
import { type Program, programRequest } from './program.js'
import type { SimTransaction } from './transaction.js'

// The first key of the test mnemonic that every devnet funds. It is a real key, because a lane checks the
// signature of committed bytes, while its own bytes are signed by the stub account.
const KEY_ACCOUNT = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')

/** The address of the lane. */
export const LANE = KEY_ACCOUNT.address.toLowerCase() as `0x${string}`

const FEE_WEI = 4_000_000n
const TIP_WEI = 100_000n

/** Signs a transaction of outside code, with a nonce that it reserved. */
export function signOutside(options: {
  readonly chainId: number
  readonly nonce: number
  readonly program: Program
}): Promise<Hex> {
  const { chainId, nonce, program } = options
  return KEY_ACCOUNT.signTransaction({
    ...programRequest(program),
    type: 'eip1559',
    chainId,
    nonce,
    gas: GAS,
    maxFeePerGas: FEE_WEI,
    maxPriorityFeePerGas: TIP_WEI,
  })
}

/** True for bytes of `signOutside`: they have a real transaction type, unlike those of the stub account. */
export const isSignedOutside = (raw: Hex): boolean => raw.startsWith('0x02')

/** The transaction in bytes that `signOutside` made. */
export function decodeSigned(raw: Hex): SimTransaction {
  const tx = parseTransaction(raw as `0x02${string}`)
  return {
    hash: keccak256(raw),
    raw,
    chainId: tx.chainId,
    type: 'eip1559',
    from: LANE,
    nonce: tx.nonce ?? 0,
    gas: Number(tx.gas ?? 0n),
    maxFeeWei: tx.maxFeePerGas ?? 0n,
    tipWei: tx.maxPriorityFeePerGas ?? 0n,
    valueWei: tx.value ?? 0n,
    to: (tx.to?.toLowerCase() as `0x${string}` | undefined) ?? null,
    data: tx.data ?? '0x',
    authorizations: 0,
  }
}
