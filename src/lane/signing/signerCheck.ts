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
 * Verifies the first bytes that an account signs against its address and the chain. Signed with the key of
 * another account, they would be sent from that one, at a nonce that is not its own; signed for another
 * chain, every node would refuse them.
 * Runs once per account, since recovering costs more than signing. Returns undefined if the account is known
 * to be correct, as an account created from its own key is. Bytes in a chain-specific format that cannot be
 * parsed here are accepted.
 */
export function createSignerCheck(
  chainId: number,
): (signer: LocalAccount, raw: Hex) => Promise<void> | undefined {
  const verdicts = new WeakMap<LocalAccount, Promise<string | undefined>>()
  // The last account that was found correct: nearly always the only one.
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

/**
 * Whether the account signs with the key of its address. A copy of an account with a changed address still
 * signs as the original.
 */
function isOwnKey(signer: LocalAccount): boolean {
  return (signer as Partial<EnvelopeSigner>).signsAs === signer.address
}

/** Describes the fault if it does not sign for its own address on this chain. */
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
