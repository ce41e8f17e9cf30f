import {
  type AuthorizationLike,
  copyRequest,
  resolveAddress,
  type Signature,
  type Signer,
  type TransactionRequest,
} from 'ethers'
import type { Address, Chain, Hex, LocalAccount, SignedAuthorization } from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import type { TxRequest } from '../types/index.js'

// By ethers' type numbers. The lane refuses a type that it does not support, by its name.
const TYPES = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip7702']

/**
 * Converts an ethers request to a lane's request: addresses are resolved, gas and fees are passed on, and
 * missing ones are left to the lane.
 *
 * @throws TxlaneError `INVALID` for a nonce or another sender, `CHAIN_MISMATCH` for another chain
 */
export async function requestOf(
  tx: TransactionRequest,
  lane: { readonly chain: Chain; readonly address: Address; readonly signer: Signer },
): Promise<TxRequest> {
  const given = copyRequest(tx)
  if (given.nonce !== undefined) throw invalid('tx.nonce', given.nonce, 'no nonce: the lane owns it')
  checkChain('tx.chainId', given.chainId, lane.chain)
  if (given.from != null) {
    const from = await resolveAddress(given.from, lane.signer)
    if (from.toLowerCase() !== lane.address.toLowerCase())
      throw invalid('tx.from', from, `the lane's own account ${lane.address}`)
  }
  const to = given.to == null ? undefined : await resolveAddress(given.to, lane.signer)
  const tuples = given.authorizationList ?? []
  const fields = {
    to,
    data: given.data,
    value: given.value,
    gas: given.gasLimit,
    gasPrice: given.gasPrice,
    maxFeePerGas: given.maxFeePerGas,
    maxPriorityFeePerGas: given.maxPriorityFeePerGas,
    accessList: given.accessList,
    type: typeOf(given),
    authorize: tuples.length === 0 ? undefined : await delegationsOf(tuples, lane),
  }
  const known = Object.entries(fields).filter(([, value]) => value != null)
  return Object.fromEntries(known) as unknown as TxRequest
}

function typeOf({ type, blobs, blobVersionedHashes }: TransactionRequest): string | undefined {
  if (blobs != null || blobVersionedHashes != null) return TYPES[3]
  if (type == null) return undefined
  return TYPES[type] ?? String(type)
}

/** @throws TxlaneError `CHAIN_MISMATCH` */
export function checkChain(argument: string, given: unknown, { id }: Chain): void {
  if (given === undefined || given === null || Number(given) === id) return
  throw new TxlaneError(`${argument} is chain ${String(given)}, the lane is on chain ${id}.`, {
    code: 'CHAIN_MISMATCH',
    fate: 'notExecuted',
    metaMessages: [`Argument: ${argument}`],
  })
}

type Delegations = NonNullable<TxRequest['authorize']>

/**
 * Converts signed authorizations (EIP-7702) for a lane. An authorization by the lane's own account is signed
 * again once the nonce is known, because it was signed for a guess. An authorization of another account is
 * used as it is, if that account still has the nonce that it was signed for; otherwise the chain would
 * silently skip it.
 *
 * @throws TxlaneError `INVALID` for an authorization for another chain, or for every chain
 */
async function delegationsOf(
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

/** An account that returns this signed tuple, and signs nothing else. */
function signedBefore(address: Address, signed: SignedAuthorization): LocalAccount {
  const signAuthorization = async ({ nonce }: { nonce: number }): Promise<SignedAuthorization> => {
    if (nonce === signed.nonce) return signed
    throw new Error(`It was signed for nonce ${signed.nonce}, and the account has the nonce ${nonce}.`)
  }
  return { address, type: 'local', signAuthorization } as unknown as LocalAccount
}
