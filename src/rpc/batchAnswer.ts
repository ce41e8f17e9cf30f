import { isRateLimit } from './errors.js'
import type { RpcFailure, RpcReply } from './port.js'
import { batchRefusal, isCut } from './ports/envelope.js'

/**
 * What the replies to one request say of the batch that it was.
 *
 * - `answered`: at least one call has an answer of its own. `open`: the positions of those that have none, or whose
 *   answer speaks of the batch: they are to be asked again.
 * - `refused`: the batch itself is refused, in words or by a status that says so.
 * - `silent`: no call has an answer, and nothing tells whether the batch or the endpoint is to blame.
 * - `limited`: the endpoint is asked too often.
 * - `cut`: the answer is larger than the port reads.
 * - `over`: nothing more is to be asked: the time is up, or the caller gave up.
 */
export type BatchAnswer =
  | { readonly kind: 'answered'; readonly open: readonly number[] }
  | { readonly kind: 'refused' | 'silent' | 'limited' | 'cut' | 'over' }

/** One reply: an answer to its call, or what it says in place of one. */
type Sense = 'word' | 'limited' | 'refused' | 'silent' | 'cut' | 'over'

// Gateways refuse a request with these for what it is, not for who asks or how often.
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 413, 422])
const SERVER_ERROR_MIN = 500
// geth answers a batch that is too large with -32600 for its first call and nothing for the others (rpc/handler.go);
// to a request that is no batch it never says so.
const INVALID_REQUEST = -32600
// geth ends a batch whose answer would be too large with "response too large" for the calls that are left.
const OF_BATCH = /\bbatch|response too large|too many (?:calls|requests) in/i

export function readBatchAnswer(replies: readonly RpcReply[]): BatchAnswer {
  const whole = isOneAnswer(replies)
  const senses = replies.map((reply) => senseOf(reply, whole))
  const first = senses[0] ?? 'silent'
  if (!senses.includes('word')) {
    if (senses.includes('over')) return { kind: 'over' }
    if (senses.includes('refused')) return { kind: 'refused' }
    return { kind: senses.includes('limited') ? 'limited' : (first as 'silent' | 'cut') }
  }
  const open = [...senses.keys()].filter((index) => senses[index] === 'silent' || senses[index] === 'refused')
  return { kind: 'answered', open }
}

/**
 * What the reply to a call that went alone says for the calls that wait behind it. `ends`: a rate limit, an answer that
 * is too large, a time limit or the caller's end: nothing more is to be asked.
 */
export function readSingleAnswer(reply: RpcReply): 'word' | 'silent' | 'ends' {
  const sense = senseOf(reply, true)
  if (sense === 'silent') return 'silent'
  return sense === 'word' || sense === 'refused' ? 'word' : 'ends'
}

function senseOf(reply: RpcReply, whole: boolean): Sense {
  if (reply.ok) return 'word'
  const { failure } = reply
  switch (failure.kind) {
    case 'rpc':
      return senseOfError(failure.code, failure.message)
    case 'http':
      return senseOfStatus(failure, whole)
    case 'malformed':
      return isCut(failure) ? 'cut' : senseOfMalformed(failure)
    case 'network':
      return 'silent'
    case 'timeout':
    case 'aborted':
      return 'over'
    case 'custom':
      return 'word'
    default:
      return failure satisfies never
  }
}

function senseOfError(code: number, message: string): Sense {
  if (code === INVALID_REQUEST || OF_BATCH.test(message)) return 'refused'
  return isRateLimit(code, message) ? 'limited' : 'word'
}

function senseOfStatus(failure: Extract<RpcFailure, { kind: 'http' }>, whole: boolean): Sense {
  const { status, rpc, message } = failure
  if (OF_BATCH.test(rpc?.message ?? message) || REFUSING_STATUSES.has(status)) return 'refused'
  if (status === 429) return 'limited'
  if (rpc !== undefined && !whole) return senseOfError(rpc.code, rpc.message)
  return status >= SERVER_ERROR_MIN ? 'silent' : 'word'
}

function senseOfMalformed(failure: RpcFailure): Sense {
  const error = batchRefusal(failure)
  if (error === undefined) return 'silent'
  const sense = senseOfError(error.code, error.message)
  return sense === 'word' ? 'silent' : sense
}

/** One answer for all calls, as a proxy gives it beside its status; else each call has an error of its own. */
function isOneAnswer(replies: readonly RpcReply[]): boolean {
  const words = replies.map((reply) =>
    reply.ok || reply.failure.kind !== 'http' ? undefined : reply.failure.rpc?.message,
  )
  return words.every((word) => word === words[0])
}
