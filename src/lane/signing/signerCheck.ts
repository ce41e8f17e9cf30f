import {
  type Address,
  type Hex,
  isAddressEqual,
  type LocalAccount,
  parseTransaction,
  recoverTransactionAddress,
} from 'viem'
import { TxlaneError } from '../../errors/base.js'
import type { EnvelopeSigner } from '../../types/index.js'

type Signed = { readonly from: Address; readonly chainId: number | undefined }

/**
 * Holds the first bytes that an account signs against its address and the chain: with the key of another account they
 * would be sent from there, at a nonce that is not its own; for another chain no node of this one takes them. Once an
 * account, since recovering costs more than signing: `undefined` once it is known to be good, as one is that was made
 * of its key. Bytes in a form of the chain's own, which cannot be read here, are let pass.
 */
export function createSignerCheck(
  chainId: number,
): (signer: LocalAccount, raw: Hex) => Promise<void> | undefined {
  const verdicts = new WeakMap<LocalAccount, Promise<string | undefined>>()
  // The one that was last found good: nearly always the only one there is.
  let good: LocalAccount | undefined

  async function check(signer: LocalAccount, raw: Hex): Promise<void> {
    const verdict = verdicts.get(signer) ?? faultOf(signer, raw, chainId)
    verdicts.set(signer, verdict)
    const fault = await verdict
    if (fault !== undefined) throw wrong(signer, fault)
    good = signer
  }

  return (signer, raw) => {
    if (signer === good) return undefined
    if (!isOwnKey(signer)) return check(signer, raw)
    good = signer
    return undefined
  }
}

/** An account that is a copy of another, with an address of its own, still signs as that one. */
function isOwnKey(signer: LocalAccount): boolean {
  return (signer as Partial<EnvelopeSigner>).signsAs === signer.address
}

/** How it signs, where that is not for its own address on this chain. */
async function faultOf({ address }: LocalAccount, raw: Hex, chainId: number): Promise<string | undefined> {
  const signed = await recover(raw)
  if (signed === undefined) return undefined
  if (!isAddressEqual(signed.from, address)) return `with the key of ${signed.from}`
  if ((signed.chainId ?? chainId) !== chainId) return `for chain ${signed.chainId}, not ${chainId}`
  return undefined
}

function wrong({ address }: LocalAccount, how: string): TxlaneError {
  return new TxlaneError(`The account ${address} signs ${how}.`, {
    code: 'SIGNER',
    fate: 'notExecuted',
    metaMessages: ['Argument: account'],
  })
}

async function recover(raw: Hex): Promise<Signed | undefined> {
  try {
    const serializedTransaction = raw as `0x02${string}`
    const { chainId } = parseTransaction(serializedTransaction)
    return { from: await recoverTransactionAddress({ serializedTransaction }), chainId }
  } catch {
    return undefined
  }
}
