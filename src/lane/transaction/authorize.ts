import { type Address, isAddressEqual, type LocalAccount, type SignedAuthorization } from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import { TxlaneError } from '../../errors/base.js'
import type { TxRequest } from '../../types/index.js'

/**
 * One delegation (EIP-7702) as it is stored. Without an account it belongs to the lane's own account, and the
 * lease owner signs it once the nonce is known. For another account it is signed already, because only the
 * process that was given that account can sign.
 */
export type Tuple = {
  readonly contractAddress: Address
  readonly account?: { readonly address: Address } | undefined
  readonly signed?: SignedAuthorization | undefined
}

const NONE: readonly Tuple[] = []

export function tuplesOf(request: TxRequest): readonly Tuple[] {
  return (request.authorize as readonly Tuple[] | undefined) ?? NONE
}

/**
 * The number of the lane's nonces that the request's tuples use in addition to the transaction's own nonce:
 * one for each tuple.
 */
export function ownTuples(request: TxRequest): number {
  // This is called for every slot that moves, and most requests have no tuples.
  if (request.authorize === undefined) return 0
  return tuplesOf(request).filter(({ account }) => account === undefined).length
}

/** The request with its delegations in stored form. Delegations of other accounts are not signed yet. */
export function withTuples(request: TxRequest, lane: Address): TxRequest {
  if (request.authorize === undefined) return request
  const authorize = request.authorize.map(({ contractAddress, account }): Tuple => {
    const address = account?.address
    if (address === undefined || address.toLowerCase() === lane) return { contractAddress }
    return { contractAddress, account: { address } }
  })
  return { ...request, authorize } as TxRequest
}

/**
 * Signs for this chain only, because a tuple for chain 0 would be valid on every chain. The chain skips an
 * invalid tuple silently, so the result is compared with the request.
 *
 * @throws TxlaneError `SIGNER` if the account cannot sign it, or signed something else
 */
export async function signTuple(
  account: LocalAccount,
  asked: { readonly contractAddress: Address; readonly chainId: number; readonly nonce: number },
): Promise<SignedAuthorization> {
  let signed: SignedAuthorization | undefined
  try {
    signed = (await account.signAuthorization?.(asked)) as SignedAuthorization | undefined
  } catch (cause) {
    throw signerError(account, 'could not sign the authorization', cause)
  }
  if (signed === undefined) throw signerError(account, 'signs no authorizations')
  const { address, chainId, nonce, r, s, yParity, v } = signed
  const same =
    address.toLowerCase() === asked.contractAddress.toLowerCase() &&
    chainId === asked.chainId &&
    nonce === asked.nonce
  if (!same) throw signerError(account, 'signed another authorization')
  return { address, chainId, nonce, r, s, yParity: yParity ?? Number((v ?? 27n) - 27n) }
}

/**
 * Verifies that the signature belongs to the account. The lane's own account is verified with the first bytes
 * that it signs.
 *
 * @throws TxlaneError `SIGNER`
 */
export async function checkTuple(account: LocalAccount, authorization: SignedAuthorization): Promise<void> {
  const from = await recoverAuthorizationAddress({ authorization }).catch(() => undefined)
  if (from === undefined || !isAddressEqual(from, account.address))
    throw signerError(account, `signs with the key of ${from ?? 'an unknown account'}`)
}

/**
 * Signs the tuples of one transaction at its nonce. The lane's own tuples take the following nonces in their
 * order, because each valid tuple increments its account's nonce after the transaction itself did (EIP-7702).
 * They are signed again for each nonce, and cached while the transaction has the nonce.
 */
export function createTupleSigner(chainId: number) {
  const cached = new WeakMap<TxRequest, { nonce: number; list: readonly SignedAuthorization[] }>()

  async function signAll(signer: LocalAccount, request: TxRequest, nonce: number) {
    const known = cached.get(request)
    if (known?.nonce === nonce) return known.list
    const list: SignedAuthorization[] = []
    let next = nonce
    for (const { contractAddress, signed } of tuplesOf(request))
      list.push(signed ?? (await signTuple(signer, { contractAddress, chainId, nonce: ++next })))
    cached.set(request, { nonce, list })
    return list
  }

  /** Returns `undefined` without tuples, as for nearly all requests. */
  return (signer: LocalAccount, request: TxRequest, nonce: number) =>
    tuplesOf(request).length === 0 ? undefined : signAll(signer, request, nonce)
}

function signerError({ address }: LocalAccount, what: string, cause?: unknown): TxlaneError {
  return new TxlaneError(`The account ${address} ${what}.`, {
    code: 'SIGNER',
    fate: 'notExecuted',
    cause,
    metaMessages: ['Argument: request.authorize'],
  })
}
