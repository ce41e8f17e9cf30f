import type { Address, Hash } from 'viem'
import type { Body, Use } from '../../ledger/evidence.js'
import { decodeHash, decodeHeader, decodeNumber, decodeObject, encodeBlock } from '../../rpc/codec.js'
import { isHistoryRefused } from '../../rpc/history.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { Signatures } from '../../rpc/signatures.js'

/** A block with full transactions, by the hash that was walked where it is known. */
export function bodyCall(number: number, hash: Hash | undefined): RpcCall {
  return hash === undefined
    ? { method: 'eth_getBlockByNumber', params: [encodeBlock(number), true] }
    : { method: 'eth_getBlockByHash', params: [hash, true] }
}

export type BodyQuery = {
  readonly address: Address
  readonly chainId: number | undefined
  readonly signatures: Signatures
  /** An attempt of ours: its signature needs no look. */
  readonly isOwn: (hash: Hash) => boolean
}

/**
 * `refused`: the node's word that it does not serve it. `missing`: it has no such block. `malformed`: it contradicts
 * itself: it used gas and lists no transactions, or lists one that its sender has not signed.
 */
export type BodyReply = Body | 'refused' | 'missing' | 'malformed' | undefined

/** A body, where the answer is one that agrees with its own header. */
export async function readBody(reply: RpcReply | undefined, query: BodyQuery): Promise<BodyReply> {
  if (reply === undefined) return undefined
  if (!reply.ok) return isHistoryRefused(reply.failure) ? 'refused' : undefined
  if (reply.result === null) return 'missing'
  try {
    const block = decodeHeader(reply.result)
    if (block === null || block.number === null || block.hash === null) return 'malformed'
    if (block.gasUsed > 0n && block.hashes.length === 0) return 'malformed'
    const { transactions } = decodeObject(reply.result, 'eth_getBlockByNumber')
    const uses = await usesIn(transactions as readonly unknown[], query)
    if (uses === undefined) return 'malformed'
    const { number, hash, parentHash, hashes } = block
    return { number, hash, parentHash, hashes, uses }
  } catch {
    return 'malformed'
  }
}

const DEPOSIT = '0x7e'

async function usesIn(
  transactions: readonly unknown[],
  query: BodyQuery,
): Promise<readonly Use[] | undefined> {
  const address = query.address.toLowerCase()
  const uses: Use[] = []
  for (const item of transactions) {
    const transaction = decodeObject(item, 'eth_getBlockByNumber', 'a transaction')
    const hash = decodeHash(transaction.hash, 'eth_getBlockByNumber', 'a transaction hash')
    if (String(transaction.from).toLowerCase() === address) {
      const use = await useOf(transaction, hash, query)
      if (use === undefined) return undefined
      uses.push(use)
    }
    uses.push(...(await tuplesIn(transaction, hash, query)))
  }
  return uses
}

/** Undefined where the account has not signed it, or not for this chain: then an endpoint has put it there. */
async function useOf(
  transaction: Readonly<Record<string, unknown>>,
  hash: Hash,
  { address, chainId, signatures, isOwn }: BodyQuery,
): Promise<Use | undefined> {
  // Not every node names a nonce for it.
  if (transaction.type === DEPOSIT) return { kind: 'deposit', nonce: undefined, hash }
  const nonce = decodeNumber(transaction.nonce ?? '', 'eth_getBlockByNumber', 'a nonce')
  if (isOwn(hash)) return { kind: 'transaction', nonce, hash }
  const signer = await signatures.signerOf(transaction)
  // A type without a signature that can be read here could be anybody's: like a deposit, it needs counts beside it.
  if (signer === 'unsigned') return { kind: 'deposit', nonce, hash }
  const isSigned = signer?.toLowerCase() === address.toLowerCase() && isForChain(transaction, chainId)
  return isSigned ? { kind: 'transaction', nonce, hash } : undefined
}

/** EIP-155: `v` of a legacy transaction is chain id * 2 + 35 or 36, or 27 or 28 where it names no chain. */
function isForChain(transaction: Readonly<Record<string, unknown>>, chainId: number | undefined): boolean {
  if (chainId === undefined) return true
  const { type, v, chainId: named } = transaction
  if (type !== undefined && type !== null && type !== '0x0')
    return named === undefined || Number(named) === chainId
  return v === undefined || Number(v) < 35 || (BigInt(v as string) - 35n) / 2n === BigInt(chainId)
}

/** EIP-7702: a tuple goes for one chain, or for all with chain id 0. */
async function tuplesIn(
  { authorizationList }: Readonly<Record<string, unknown>>,
  hash: Hash,
  { address, chainId, signatures }: BodyQuery,
): Promise<readonly Use[]> {
  if (!Array.isArray(authorizationList)) return []
  const uses: Use[] = []
  for (const tuple of authorizationList) {
    const { chainId: onChain, nonce } = decodeObject(tuple, 'eth_getBlockByNumber', 'an authorization')
    const goesHere = Number(onChain) === 0 || chainId === undefined || Number(onChain) === chainId
    if (!goesHere || (await signatures.authorityOf(tuple))?.toLowerCase() !== address.toLowerCase()) continue
    uses.push({ kind: 'authorization', nonce: Number(nonce), hash })
  }
  return uses
}
