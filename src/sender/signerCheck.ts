import { type Address, type Hex, isAddressEqual, type LocalAccount, recoverTransactionAddress } from 'viem'
import { TxlaneError } from '../errors/base.js'

/**
 * Holds the first bytes that an account signs against its address: with the key of another account they would be
 * sent from there, at a nonce that is not its own. Once an account, since recovering costs more than signing.
 * Bytes in a form of the chain's own, which cannot be read here, are let pass.
 */
export function createSignerCheck(): (signer: LocalAccount, raw: Hex) => Promise<void> {
  const recovered = new WeakMap<LocalAccount, Promise<Address | undefined>>()

  return async (signer, raw) => {
    const known = recovered.get(signer) ?? recover(raw)
    recovered.set(signer, known)
    const from = await known
    if (from === undefined || isAddressEqual(from, signer.address)) return
    throw new TxlaneError(`The account ${signer.address} signs with the key of ${from}.`, {
      code: 'SIGNER',
      fate: 'notExecuted',
      metaMessages: ['Argument: account'],
    })
  }
}

async function recover(raw: Hex): Promise<Address | undefined> {
  try {
    return await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
  } catch {
    return undefined
  }
}
