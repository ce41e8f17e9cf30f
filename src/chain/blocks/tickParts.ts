import type { LightHeader } from '../../rpc/codec.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { SealedBlock } from './follower.js'

/** One call of a tick, with the handler of its reply. */
export type Part = { readonly call: RpcCall; readonly take: (reply: RpcReply) => void }

/**
 * Decodes a reply. Undefined if the call failed or its result cannot be decoded: no answer of an endpoint
 * makes its reader throw.
 */
export function decoded<T>(
  reply: RpcReply | undefined,
  decode: (result: unknown, method: string) => T,
): T | undefined {
  if (!reply?.ok) return undefined
  try {
    return decode(reply.result, 'tick')
  } catch {
    return undefined
  }
}

/** True if the reply is neither a result nor an error of the node itself. */
export function isUnanswered(reply: RpcReply): boolean {
  return !reply.ok && reply.failure.kind !== 'rpc'
}

export function sealedOf(header: LightHeader | null | undefined): SealedBlock | undefined {
  if (!header || header.number === null || header.hash === null) return undefined
  // The header was indexed before its body: the block used gas, but lists no transactions.
  if (header.gasUsed > 0n && header.hashes.length === 0) return undefined
  return { ...header, number: header.number, hash: header.hash }
}
