import { type Address, type Hex, keccak256, type LocalAccount, stringToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

export type Unsigned = Fees & {
  readonly nonce: number
  readonly gas?: bigint
  readonly value?: bigint
  /** The authority of an EIP-7702 delegation: the account itself or another account. */
  readonly authority?: { readonly account: LocalAccount; readonly nonce: number }
}

const TO: Address = '0x00000000000000000000000000000000000000aa'
const DELEGATE: Address = '0x00000000000000000000000000000000000000de'

/** Deterministic accounts: the same for the same name. */
export function accountsOf(name: string, count: number): LocalAccount[] {
  return Array.from({ length: count }, (_, index) =>
    privateKeyToAccount(keccak256(stringToHex(`${name}, account ${index}`))),
  )
}

export async function signed(
  account: LocalAccount,
  chainId: number,
  { authority, ...fields }: Unsigned,
): Promise<Hex> {
  const common = { chainId, to: TO, gas: authority === undefined ? 21_000n : 60_000n, ...fields }
  if (authority === undefined) return account.signTransaction({ ...common, type: 'eip1559' })
  const { account: by, nonce } = authority
  const authorization = await by.signAuthorization?.({ chainId, address: DELEGATE, nonce })
  if (authorization === undefined) throw new Error('the account cannot authorize')
  return account.signTransaction({ ...common, type: 'eip7702', authorizationList: [authorization] })
}
