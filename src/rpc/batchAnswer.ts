import { batchRefusal, isCut } from './envelope.js'
import { isRateLimit, mentionsBatch } from './limits.js'
import type { RpcFailure, RpcReply } from './port.js'

/**
 * The result of a batch, read from the replies to its calls.
 *
 * - `answered`: at least one call has an answer of its own. `open` lists the positions of the calls without
 *   an answer, or with an answer about the batch; these are to be asked again.
 * - `refused`: the endpoint refused the batch itself, in words or by a status code.
 * - `alike`: no call has a result, and all errors are identical. The error concerns each call, or the batch.
 * - `silent`: no call has an answer, and it is unknown whether the batch or the endpoint is to blame.
 * - `limited`: a rate limit was hit.
 * - `cut`: the answer is larger than the port reads.
 * - `over`: no further request is to be made: the time is up, or the caller gave up.
 */
export type BatchAnswer =
  | { readonly kind: 'answered'; readonly open: readonly number[] }
  | { readonly kind: 'refused' | 'alike' | 'silent' | 'limited' | 'cut' | 'over' }

/**
 * The meaning of one reply: `word` is an answer to its call. `limit` is either a rate limit or a batch limit.
 */
type Sense = 'word' | 'limited' | 'limit' | 'refused' | 'silent' | 'cut' | 'over'

// Gateways use these statuses to refuse the content of a request, not its sender or its rate.
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 413, 422])
const SERVER_ERROR_MIN = 500
// geth answers a too large batch with -32600 for its first call and nothing for the others (rpc/handler.go).
// It never uses that code for a single request.
const INVALID_REQUEST = -32600
// This text is used for a limit of calls per second as well as for calls per batch, usually with -32005
// (EIP-1474).
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

/** True if two failures are identical, word for word. */
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

/** Calls through a custom transport are sent one by one, even if they were given as a batch. */
const isNodesWord = (reply: RpcReply): boolean =>
  !reply.ok && (reply.failure.kind === 'rpc' || reply.failure.kind === 'http')

function wordsOf(failure: RpcFailure): string {
  const { message } = failure
  return failure.kind === 'rpc' ? `${failure.code} ${message}` : `${failure.kind} ${message}`
}

/**
 * The consequence of the reply to a single call for the calls queued behind it. `ends` stands for a rate
 * limit, a too large answer, a time limit or an abort by the caller: no further request is to be made.
 */
export function readSingleAnswer(reply: RpcReply): 'word' | 'silent' | 'ends' {
  const sense = senseOf(reply, ALONE)
  if (sense === 'silent') return 'silent'
  return sense === 'word' || sense === 'refused' ? 'word' : 'ends'
}

/** A summary of the replies to a batch. */
type Shape = {
  readonly isBatch: boolean
  /**
   * True if a proxy gave one answer for all calls beside its status. Otherwise each call has an error of its
   * own.
   */
  readonly isOneAnswer: boolean
}

const ALONE: Shape = { isBatch: false, isOneAnswer: true }

function senseOf(reply: RpcReply, shape: Shape): Sense {
  if (reply.ok) return 'word'
  const { failure } = reply
  switch (failure.kind) {
    case 'rpc':
      return senseOfError(failure)
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

type RpcErrorObject = { readonly code: number; readonly message: string; readonly data?: unknown }

function senseOfError({ code, message, data }: RpcErrorObject): Sense {
  if (code === INVALID_REQUEST || mentionsBatch(message)) return 'refused'
  if (SOME_LIMIT.test(message)) return 'limit'
  return isRateLimit({ kind: 'rpc', code, message, data }) ? 'limited' : 'word'
}

function senseOfStatus(
  failure: Extract<RpcFailure, { kind: 'http' }>,
  { isBatch, isOneAnswer }: Shape,
): Sense {
  const { status, rpc, message } = failure
  if (mentionsBatch(rpc?.message ?? message) || REFUSING_STATUSES.has(status)) return 'refused'
  if (status === 429) return 'limited'
  if (rpc !== undefined && !isOneAnswer) return senseOfError(rpc)
  // Gateways refuse a batch with various statuses (403, 404, 405, 431). For a single call such a status is an
  // answer.
  return isBatch || status >= SERVER_ERROR_MIN ? 'silent' : 'word'
}

function senseOfMalformed(failure: RpcFailure): Sense {
  const error = batchRefusal(failure)
  if (error === undefined) return 'silent'
  const sense = senseOfError(error)
  return sense === 'word' || sense === 'limit' ? 'silent' : sense
}

function isOneAnswer(replies: readonly RpcReply[]): boolean {
  const words = replies.map((reply) =>
    reply.ok || reply.failure.kind !== 'http' ? undefined : reply.failure.rpc?.message,
  )
  return words.every((word) => word === words[0])
}
