import type { LightHeader } from '../../rpc/codec.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { SealedBlock } from './follower.js'

/** One call of a tick, with who takes its answer. */
export type Part = { readonly call: RpcCall; readonly take: (reply: RpcReply) => void }

/** A reply through its decoder; undefined where it failed or made no sense: a tick never throws over an answer. */
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

/** Neither a result nor the node's own words. */
export function isUnanswered(reply: RpcReply): boolean {
  return !reply.ok && reply.failure.kind !== 'rpc'
}

export function sealedOf(header: LightHeader | null | undefined): SealedBlock | undefined {
  if (!header || header.number === null || header.hash === null) return undefined
  // A header that was indexed before its body: the block used gas, and shows nothing that did.
  if (header.gasUsed > 0n && header.hashes.length === 0) return undefined
  return { ...header, number: header.number, hash: header.hash }
}
