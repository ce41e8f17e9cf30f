import { decodeNumber } from './codec.js'
import { chainMismatch, isRateLimit, resultOf } from './errors.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from './port.js'
import { batchRefusal, isCut } from './ports/envelope.js'
import type { ProfileWatch } from './profile.js'

export type BatchReadsOptions = BatchOptions & {
  /** Says how large a batch may be, and learns it. */
  readonly profile?: ProfileWatch | undefined
  /** Asked along where given: an endpoint may have strayed to another chain since it was probed. */
  readonly chainId?: number | undefined
}

const CHAIN_ID: RpcCall = { method: 'eth_chainId', params: [] }

// Statuses with which gateways refuse a request for what it is, not for who asks or how often.
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 413, 422])
// geth answers a batch that is too large with -32600 for its first call and nothing for the others (rpc/handler.go).
const INVALID_REQUEST = -32600

/**
 * Reads in order, in one request where the endpoint takes batches of that size, else in several. Only for calls
 * that may be asked twice: a batch that is refused as a whole is asked again in parts.
 *
 * @throws with `chainId` only: `CHAIN_MISMATCH`, or a typed error where the endpoint does not say which chain it is on
 */
export async function batchReads(
  port: Port,
  calls: readonly RpcCall[],
  { chainId, ...options }: BatchReadsOptions = {},
): Promise<readonly RpcReply[]> {
  if (chainId === undefined) return readAll(port, calls, options)
  const replies = [...(await readAll(port, [...calls, CHAIN_ID], options))]
  const shown = decodeNumber(resultOf(CHAIN_ID.method, replies.pop()), CHAIN_ID.method)
  if (shown !== chainId) throw chainMismatch(port.name, 'chain id', `${chainId}`, `${shown}`)
  return replies
}

async function readAll(
  port: Port,
  calls: readonly RpcCall[],
  { profile, ...options }: Omit<BatchReadsOptions, 'chainId'>,
): Promise<readonly RpcReply[]> {
  if (calls.length === 0) return []
  const { usable, sizeMax } = profile?.current().batch ?? {}
  const size = usable === false ? 1 : (sizeMax ?? calls.length)
  if (calls.length > size) return inParts(port, calls, Math.max(1, size), { profile, ...options })
  const replies = await port.batch(calls, options)
  if (calls.length === 1) return replies
  // It says nothing of batches as such: the next one asks for something else.
  if (isCutReply(replies[0]))
    return inParts(port, calls, Math.floor(calls.length / 2), { profile, ...options })
  if (!isBatchRefused(replies)) {
    if (replies.every(isAnswered)) profile?.observe({ kind: 'batchAnswered', size: calls.length })
    return replies
  }
  profile?.observe({ kind: 'batchRefused', size: calls.length })
  return inParts(port, calls, Math.floor(calls.length / 2), { profile, ...options })
}

async function inParts(
  port: Port,
  calls: readonly RpcCall[],
  size: number,
  options: Omit<BatchReadsOptions, 'chainId'>,
): Promise<readonly RpcReply[]> {
  const replies: RpcReply[] = []
  for (let start = 0; start < calls.length; start += size) {
    replies.push(...(await readAll(port, calls.slice(start, start + size), options)))
    const last = replies.at(-1)
    // Too large for one call alone: the endpoint may have no other answer, and is not asked for each of the rest.
    if (last && isCutReply(last))
      return [...replies, ...new Array<RpcReply>(calls.length - replies.length).fill(last)]
  }
  return replies
}

const isCutReply = (reply: RpcReply | undefined) => reply?.ok === false && isCut(reply.failure)

function isAnswered(reply: RpcReply): boolean {
  return reply.ok || reply.failure.kind === 'rpc'
}

/** True where a batch of several calls was refused for being one, or for its size. */
export function isBatchRefused(replies: readonly RpcReply[]): boolean {
  const [first, ...others] = replies
  if (first === undefined || first.ok || others.length === 0) return false
  const { failure } = first
  if (failure.kind === 'http') return REFUSING_STATUSES.has(failure.status)
  const whole = batchRefusal(failure)
  if (whole !== undefined) return !isRateLimit(whole.code, whole.message)
  const others_ = others.every((reply) => !reply.ok && reply.failure.kind === 'malformed')
  return failure.kind === 'rpc' && failure.code === INVALID_REQUEST && others_
}
