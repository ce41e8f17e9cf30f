import { type Address, type Hex, type LocalAccount, type SignedAuthorization, zeroAddress } from 'viem'
import { toAccount } from 'viem/accounts'
import type { Clock } from '../../src/platform/clock.js'
import { encodeTransaction, type SimTransactionType } from './transaction.js'

export type StubAccountOptions = {
  /** Needed only for `delayMs`. */
  readonly clock?: Clock | undefined
  /** The duration of a signature, read before each. @default 0: asynchronous, but without delay */
  readonly delayMs?: (() => number) | undefined
  /** Called before each signature; true makes it fail. @default never */
  readonly fails?: (() => boolean) | undefined
}

export type StubAccount = LocalAccount & {
  /** The number of signed transactions. */
  readonly signed: number
}

// The argument of viem's `signTransaction`, as far as a lane uses it.
type Signable = {
  readonly type?: string | undefined
  readonly chainId?: number | undefined
  readonly nonce?: number | undefined
  readonly gas?: bigint | undefined
  readonly gasPrice?: bigint | undefined
  readonly maxFeePerGas?: bigint | undefined
  readonly maxPriorityFeePerGas?: bigint | undefined
  readonly to?: Address | null | undefined
  readonly value?: bigint | undefined
  readonly data?: Hex | undefined
  readonly authorizationList?: readonly SignedAuthorization[] | undefined
}

/**
 * An account for the simulated chain: its "signature" is its address, written into the bytes. A real
 * signature costs 860 µs (viem, noble), more than the rest of a transaction's simulated life.
 */
export function createStubAccount(address: Address, options: StubAccountOptions = {}): StubAccount {
  const { clock, delayMs, fails } = options
  let signed = 0

  async function signTransaction(transaction: unknown): Promise<Hex> {
    const ms = delayMs?.() ?? 0
    if (ms > 0 && clock !== undefined) await new Promise<void>((resolve) => clock.setTimer(resolve, ms))
    if (fails?.() === true) throw new Error('the signer is not available')
    signed++
    return encode(address, transaction as Signable)
  }

  const account = toAccount({
    address,
    signTransaction: signTransaction as LocalAccount['signTransaction'],
    signMessage: async () => '0x',
    signTypedData: async () => '0x',
    signAuthorization: async (authorization) => ({
      address: (authorization.address ?? authorization.contractAddress) as Address,
      chainId: authorization.chainId,
      nonce: authorization.nonce,
      // The signer's address in place of the signature; 0 for a signature from which no signer can be
      // recovered.
      r: `0x${address.slice(2).toLowerCase().padStart(64, '0')}`,
      s: '0x0',
      yParity: 0,
    }),
  })
  return Object.defineProperty(account, 'signed', { get: () => signed }) as unknown as StubAccount
}

function encode(from: Address, tx: Signable): Hex {
  if (tx.nonce === undefined || tx.gas === undefined || tx.chainId === undefined) {
    throw new Error('the stub account signs whole transactions only: nonce, gas and chainId are needed')
  }
  const maxFeeWei = tx.maxFeePerGas ?? tx.gasPrice
  if (maxFeeWei === undefined) throw new Error('the stub account needs a fee')
  return encodeTransaction({
    chainId: tx.chainId,
    type: typeOf(tx),
    from,
    nonce: tx.nonce,
    gas: Number(tx.gas),
    maxFeeWei,
    tipWei: tx.maxPriorityFeePerGas ?? tx.gasPrice ?? 0n,
    valueWei: tx.value ?? 0n,
    to: tx.to ?? null,
    data: tx.data ?? '0x',
    ...delegationOf(from, tx),
  })
}

/** The effect of the valid tuples of the sender itself; the chain skips the others silently (EIP-7702). */
function delegationOf(from: Address, tx: Signable): { authorizations: number; clears: boolean } {
  let authorizations = 0
  let clears = false
  for (const { address, chainId, nonce, r } of tx.authorizationList ?? []) {
    const own = r.endsWith(from.slice(2).toLowerCase())
    if (!own || chainId !== tx.chainId || nonce !== (tx.nonce ?? 0) + 1 + authorizations) continue
    authorizations++
    clears = address === zeroAddress
  }
  return { authorizations, clears }
}

function typeOf(tx: Signable): SimTransactionType {
  if ((tx.authorizationList?.length ?? 0) > 0) return 'eip7702'
  if (tx.maxFeePerGas !== undefined) return 'eip1559'
  return tx.type === 'eip2930' ? 'eip2930' : 'legacy'
}
