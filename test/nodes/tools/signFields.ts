import { concat, type Hex, keccak256, type LocalAccount, parseSignature, toHex, toRlp } from 'viem'
import { FEES, NOBODY, type Signed, TRANSFER_GAS, type Workbench, withHash } from './workbench.js'

type Rlp = Hex | readonly Rlp[]
type Signature = { readonly r: Hex; readonly s: Hex; readonly yParity: number }

/** The fields of a type 2 transaction, a transfer of 1 wei, in the order in which they are signed. */
type Fields = {
  readonly nonce?: bigint
  readonly maxPriorityFeePerGas?: bigint
  readonly maxFeePerGas?: bigint
}

export function fieldsOf({ chainId, firstNonce }: Workbench, fields: Fields = {}): readonly Rlp[] {
  const { nonce, ...fees } = { nonce: BigInt(firstNonce), ...FEES, ...fields }
  const numbers = [BigInt(chainId), nonce, fees.maxPriorityFeePerGas, fees.maxFeePerGas, TRANSFER_GAS]
  return [...numbers.map(quantity), NOBODY, quantity(1n), '0x', []]
}

/**
 * Signs the fields unchecked, because viem serialises no transaction that it knows to be invalid. `alter`
 * changes the signature.
 */
export async function signFields(
  account: LocalAccount,
  type: Hex,
  fields: readonly Rlp[],
  alter: (signature: Signature) => Signature = (signature) => signature,
): Promise<Signed> {
  if (account.sign === undefined) throw new Error('the account signs no hash')
  const made = await account.sign({ hash: keccak256(concat([type, toRlp(fields as never)])) })
  const { r, s, yParity } = parseSignature(made)
  const signature = alter({ r, s, yParity: yParity ?? 0 })
  const parts = [quantity(BigInt(signature.yParity)), trimmed(signature.r), trimmed(signature.s)]
  return withHash(concat([type, toRlp([...fields, ...parts] as never)]))
}

/** RLP has no leading zeros, and encodes 0 as the empty string. */
function quantity(value: bigint): Hex {
  return value === 0n ? '0x' : toHex(value)
}

function trimmed(word: Hex): Hex {
  return quantity(BigInt(word))
}
