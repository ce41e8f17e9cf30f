import { copyRequest, resolveAddress, type Signer, type TransactionRequest } from 'ethers'
import type { Address, Chain } from 'viem'
import { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import type { TxRequest } from '../types/index.js'
import { delegationsOf } from './delegations.js'

// By ethers' numbers. What a lane cannot carry it refuses by its name.
const TYPES = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip7702']

/**
 * An ethers request as a lane takes it: addresses resolved, gas and fees as given, and left to the lane where they are
 * not.
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
