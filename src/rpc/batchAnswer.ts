import { batchRefusal, isCut } from './envelope.js'
import { isRateLimit } from './errors.js'
import type { RpcFailure, RpcReply } from './port.js'

/**
 * What the replies to one request say of the batch that it was.
 *
 * - `answered`: at least one call has an answer of its own. `open`: the positions of those that have none, or whose
 *   answer speaks of the batch: they are to be asked again.
 * - `refused`: the batch itself is refused, in words or by a status that says so.
 * - `alike`: no call has a result, and every error says the same. It is about each call, or about the batch.
 * - `silent`: no call has an answer, and nothing tells whether the batch or the endpoint is to blame.
 * - `limited`: the endpoint is asked too often.
 * - `cut`: the answer is larger than the port reads.
 * - `over`: nothing more is to be asked: the time is up, or the caller gave up.
 */
export type BatchAnswer =
  | { readonly kind: 'answered'; readonly open: readonly number[] }
  | { readonly kind: 'refused' | 'alike' | 'silent' | 'limited' | 'cut' | 'over' }

/** One reply: an answer to its call, or what it says in place of one. `limit`: the limit of a rate, or of a batch. */
type Sense = 'word' | 'limited' | 'limit' | 'refused' | 'silent' | 'cut' | 'over'

// Gateways refuse a request with these for what it is, not for who asks or how often.
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 413, 422])
const SERVER_ERROR_MIN = 500
// geth answers a batch that is too large with -32600 for its first call and nothing for the others (rpc/handler.go);
// to a request that is no batch it never says so.
const INVALID_REQUEST = -32600
// geth ends a batch whose answer would be too large with "response too large" for the calls that are left.
const OF_BATCH = /\bbatch|response too large|too many (?:calls|requests) in/i
// Said of calls a second as well as of calls in a batch, with -32005 as a rule (EIP-1474).
const SOME_LIMIT = /^(?:request )?limit exceeded\W*$/i

export function readBatchAnswer(replies: readonly RpcReply[]): BatchAnswer {
  const isBatch = replies.length > 1
  const shape: Shape = { isBatch, isOneAnswer: isOneAnswer(replies) }
  const senses = replies.map((reply) => senseOf(reply, shape))
  if (isBatch && isAlike(replies, senses)) return { kind: 'alike' }
  if (!senses.includes('word')) {
    if (senses.includes('over')) return { kind: 'over' }
    if (senses.includes('refused')) return { kind: 'refused' }
    if (senses.includes('limited') || senses.includes('limit')) return { kind: 'limited' }
    return { kind: senses[0] === 'cut' ? 'cut' : 'silent' }
  }
  const open = [...senses.keys()].filter((index) => senses[index] === 'silent' || senses[index] === 'refused')
  return { kind: 'answered', open }
}

/** Two failures that say the same, word for word. */
export function isSameFailure(one: RpcReply | undefined, other: RpcReply | undefined): boolean {
  return one?.ok === false && other?.ok === false && wordsOf(one.failure) === wordsOf(other.failure)
}

function isAlike(replies: readonly RpcReply[], senses: readonly Sense[]): boolean {
  const said = replies.filter((_, index) => senses[index] === 'word' || senses[index] === 'limit')
  const isRest = senses.every((sense) => sense === 'word' || sense === 'limit' || sense === 'silent')
  return (
    said.length > 0 && isRest && said.every((reply) => isNodesWord(reply) && isSameFailure(reply, said[0]))
  )
}

/** Calls through a custom transport go one by one, whatever is asked together. */
const isNodesWord = (reply: RpcReply): boolean =>
  !reply.ok && (reply.failure.kind === 'rpc' || reply.failure.kind === 'http')

function wordsOf(failure: RpcFailure): string {
  const { message } = failure
  return failure.kind === 'rpc' ? `${failure.code} ${message}` : `${failure.kind} ${message}`
}

/**
 * What the reply to a call that went alone says for the calls that wait behind it. `ends`: a rate limit, an answer that
 * is too large, a time limit or the caller's end: nothing more is to be asked.
 */
export function readSingleAnswer(reply: RpcReply): 'word' | 'silent' | 'ends' {
  const sense = senseOf(reply, ALONE)
  if (sense === 'silent') return 'silent'
  return sense === 'word' || sense === 'refused' ? 'word' : 'ends'
}

/** How the calls went, and what came back. */
type Shape = {
  readonly isBatch: boolean
  /** One answer for all calls, as a proxy gives it beside its status; else each call has an error of its own. */
  readonly isOneAnswer: boolean
}

const ALONE: Shape = { isBatch: false, isOneAnswer: true }

function senseOf(reply: RpcReply, shape: Shape): Sense {
  if (reply.ok) return 'word'
  const { failure } = reply
  switch (failure.kind) {
    case 'rpc':
      return senseOfError(failure.code, failure.message)
    case 'http':
      return senseOfStatus(failure, shape)
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
  if (SOME_LIMIT.test(message)) return 'limit'
  return isRateLimit(code, message) ? 'limited' : 'word'
}

function senseOfStatus(
  failure: Extract<RpcFailure, { kind: 'http' }>,
  { isBatch, isOneAnswer }: Shape,
): Sense {
  const { status, rpc, message } = failure
  if (OF_BATCH.test(rpc?.message ?? message) || REFUSING_STATUSES.has(status)) return 'refused'
  if (status === 429) return 'limited'
  if (rpc !== undefined && !isOneAnswer) return senseOfError(rpc.code, rpc.message)
  // Gateways have many ways to refuse a batch: 403, 404, 405, 431. Of a call alone such a status is an answer.
  return isBatch || status >= SERVER_ERROR_MIN ? 'silent' : 'word'
}

function senseOfMalformed(failure: RpcFailure): Sense {
  const error = batchRefusal(failure)
  if (error === undefined) return 'silent'
  const sense = senseOfError(error.code, error.message)
  return sense === 'word' || sense === 'limit' ? 'silent' : sense
}

function isOneAnswer(replies: readonly RpcReply[]): boolean {
  const words = replies.map((reply) =>
    reply.ok || reply.failure.kind !== 'http' ? undefined : reply.failure.rpc?.message,
  )
  return words.every((word) => word === words[0])
}
