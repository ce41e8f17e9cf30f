import type { AuthorizationLike, Signature } from 'ethers'
import type { Address, Chain, Hex, LocalAccount, SignedAuthorization } from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import { invalid } from '../errors/invalid.js'
import type { TxRequest } from '../types/index.js'

type Delegations = NonNullable<TxRequest['authorize']>

/**
 * Signed authorizations (EIP-7702) as a lane takes them. One that the lane's own account signed is signed anew once
 * the nonce is known, since it was signed for a guess. One of another account goes as it is, as long as that account's
 * nonce is still the one it was signed for: the chain would skip it without a word.
 *
 * @throws TxlaneError `INVALID` for one that is good for another chain, or for every chain
 */
export async function delegationsOf(
  tuples: readonly AuthorizationLike[],
  lane: { readonly chain: Chain; readonly address: Address },
): Promise<Delegations> {
  return Promise.all(
    tuples.map(async (tuple, index) => {
      const signed = viemTuple(tuple)
      if (signed.chainId !== lane.chain.id)
        throw invalid(`tx.authorizationList[${index}].chainId`, tuple.chainId, `chain ${lane.chain.id}`)
      const contractAddress = signed.address
      const authority = await recoverAuthorizationAddress({ authorization: signed })
      if (authority.toLowerCase() === lane.address.toLowerCase()) return { contractAddress }
      return { contractAddress, account: signedBefore(authority, signed) }
    }),
  )
}

function viemTuple({ address, chainId, nonce, signature }: AuthorizationLike): SignedAuthorization {
  const { r, s, yParity } = signature as Signature
  return {
    address: address as Address,
    chainId: Number(chainId),
    nonce: Number(nonce),
    r: r as Hex,
    s: s as Hex,
    yParity,
  }
}

/** An account that has signed this one tuple and signs nothing else. */
function signedBefore(address: Address, signed: SignedAuthorization): LocalAccount {
  const signAuthorization = async ({ nonce }: { nonce: number }): Promise<SignedAuthorization> => {
    if (nonce === signed.nonce) return signed
    throw new Error(`It was signed for nonce ${signed.nonce}, and the account is at ${nonce}.`)
  }
  return { address, type: 'local', signAuthorization } as unknown as LocalAccount
}
