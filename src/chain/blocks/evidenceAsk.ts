import type { Address, Hash } from 'viem'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { Signatures } from '../../rpc/signatures.js'
import { type BodyReply, readBody } from './bodies.js'
import { readNumber } from './evidenceReplies.js'

/** What every reading for evidence is asked with. */
export type AskedWith = {
  readonly address: Address
  /** Asked beside each reading where given: an endpoint on another chain proves nothing. */
  readonly chainId?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Calls in one request. @default 17 */
  readonly batchMax?: number | undefined
}

/** What the reading of a body needs beside. */
export type BodyParts = AskedWith & {
  readonly signatures: Signatures
  readonly isOwn: (hash: Hash) => boolean
}

// A request as wide as a step of the search, and the chain id beside it.
const BATCH_MAX = 17

/** The replies to all calls, in order; none where the endpoint is on another chain or does not say. */
export async function ask(
  port: Port,
  { chainId, signal, batchMax = BATCH_MAX }: AskedWith,
  calls: readonly RpcCall[],
): Promise<readonly RpcReply[]> {
  const all = chainId === undefined ? calls : [...calls, { method: 'eth_chainId', params: [] }]
  const replies: RpcReply[] = []
  for (let start = 0; start < all.length; start += batchMax) {
    const some = all.slice(start, start + batchMax)
    const answered = await port.batch(some, { signal })
    if (answered.length !== some.length) return []
    replies.push(...answered)
  }
  if (chainId === undefined) return replies
  return readNumber(replies.pop(), 'eth_chainId') === chainId ? replies : []
}

export function bodyOf(reply: RpcReply | undefined, query: BodyParts): Promise<BodyReply> {
  const { address, chainId, signatures, isOwn } = query
  return readBody(reply, { address, chainId, signatures, isOwn })
}
