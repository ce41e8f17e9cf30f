import type { Address, Hash } from 'viem'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { Signatures } from '../../rpc/signatures.js'
import { type BodyReply, readBody } from './bodies.js'
import { readNumber } from './evidenceReplies.js'

/** The parameters of every reading for evidence. */
export type AskedWith = {
  readonly address: Address
  /** If given, it is verified with each reading, because an endpoint on another chain proves nothing. */
  readonly chainId?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** The maximum number of calls in one request. @default 17 */
  readonly batchMax?: number | undefined
}

/** The additional parameters for reading a body. */
export type BodyParts = AskedWith & {
  readonly signatures: Signatures
  readonly isOwn: (hash: Hash) => boolean
}

// A request as wide as a step of the search, plus the chain id.
const BATCH_MAX = 17

/**
 * The replies to all calls, in order. Empty if the endpoint is on another chain, or does not answer with its
 * chain id.
 */
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
