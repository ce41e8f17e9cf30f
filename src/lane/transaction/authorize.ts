import { type Address, isAddressEqual, type LocalAccount, type SignedAuthorization } from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import { TxlaneError } from '../../errors/base.js'
import type { TxRequest } from '../../types/index.js'

/**
 * One delegation (EIP-7702) as it is kept: without an account it is the lane's own, and is signed by whoever holds the
 * lane once the nonce is known; for another account it is signed already, since only the process that was given that
 * account can.
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

/** The nonces of the lane that the request's tuples use beside the transaction's own: one each. */
export function ownTuples(request: TxRequest): number {
  // Asked of every nonce that moves: most requests have none.
  if (request.authorize === undefined) return 0
  return tuplesOf(request).filter(({ account }) => account === undefined).length
}

/** The request with its delegations as they are kept; those of other accounts are not signed yet. */
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
 * Signs for this chain alone: chain 0 would be good on every one. A tuple that is not valid is skipped by the chain
 * without a word, so that what comes back is held against what was asked for.
 *
 * @throws TxlaneError `SIGNER` where the account cannot sign it, or signed something else
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
 * Holds the signature against the account. The lane's own account is known by the first bytes that it signs.
 *
 * @throws TxlaneError `SIGNER`
 */
export async function checkTuple(account: LocalAccount, authorization: SignedAuthorization): Promise<void> {
  const from = await recoverAuthorizationAddress({ authorization }).catch(() => undefined)
  if (from === undefined || !isAddressEqual(from, account.address))
    throw signerError(account, `signs with the key of ${from ?? 'nobody'}`)
}

/**
 * The tuples of one transaction at its nonce: the lane's own take the nonces after it, in their order, since each
 * valid one adds one to its account's nonce after the transaction itself did (EIP-7702). Signed anew for each nonce,
 * and kept for as long as the transaction has it.
 */
export function createTupleSigner(chainId: number) {
  const kept = new WeakMap<TxRequest, { nonce: number; list: readonly SignedAuthorization[] }>()

  async function signAll(signer: LocalAccount, request: TxRequest, nonce: number) {
    const known = kept.get(request)
    if (known?.nonce === nonce) return known.list
    const list: SignedAuthorization[] = []
    let next = nonce
    for (const { contractAddress, signed } of tuplesOf(request))
      list.push(signed ?? (await signTuple(signer, { contractAddress, chainId, nonce: ++next })))
    kept.set(request, { nonce, list })
    return list
  }

  /** `undefined` where it has none, as nearly all. */
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
