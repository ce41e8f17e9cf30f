import { readCount } from '../../chain/blocks/evidenceReads.js'
import { answerOf, type RequestEnd, type SendAnswer } from '../../delivery/settle.js'
import type { Attempt } from '../../ledger/slot.js'
import { type BatchAnswer, readBatchAnswer } from '../../rpc/batchAnswer.js'
import { classifyReply } from '../../rpc/classify.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { ProfileWatch } from '../../rpc/profile.js'

/** One transaction in a request. */
export type Sending = {
  readonly nonce: number
  /** The attempt as it was before it was sent. */
  readonly attempt: Attempt
  /**
   * No process has sent this attempt, and nothing else was sent at its nonce. An attempt of an earlier
   * process may be in the pool already.
   */
  readonly isFresh: boolean
}

/** A transaction together with the endpoint's reply to it. */
export type Answered = Sending & {
  readonly outcome: SendOutcome
  /** The reply as the delivery interprets it. */
  readonly answer: SendAnswer
  readonly reply: RpcReply | undefined
}

export function sendOf({ attempt }: Sending): RpcCall {
  return { method: 'eth_sendRawTransaction', params: [attempt.raw] }
}

export function answeredOf(sending: Sending, reply: RpcReply | undefined): Answered {
  const outcome: SendOutcome =
    reply === undefined
      ? { outcome: 'unknown', reason: 'unknown', counted: false }
      : classifyReply(reply, sending.attempt.hash)
  // A refusal in an unknown message is still a refusal: the lane offers the bytes again at its own pace.
  const answer = isExplicitRefusal(reply, outcome) ? REFUSED : answerOf(outcome)
  const { nonce, attempt, isFresh } = sending
  return { nonce, attempt, isFresh, outcome, answer, reply }
}

const REFUSED: SendAnswer = { kind: 'refused' }
const UNANSWERED: SendAnswer = { kind: 'unanswered' }

/** The value of a `pending` count; undefined if the call was not answered. */
export function countOf(reply: RpcReply | undefined): number | undefined {
  const count = readCount(reply)
  return typeof count === 'number' ? count : undefined
}

/**
 * Interprets the replies as a reply to the batch. If the endpoint gives every transaction the same error, and
 * the error is not known to be about a single transaction, it may be about the batch. The transactions are
 * then sent in smaller batches, down to a single transaction, whose answer counts.
 */
export function batchKindOf(
  replies: readonly RpcReply[],
  answered: readonly Answered[],
): BatchAnswer['kind'] {
  if (replies.length === 0) return 'answered'
  const { kind } = readBatchAnswer(replies)
  return kind === 'alike' && answered.every(isUnclear) ? 'refused' : kind
}

const isUnclear = ({ outcome: { outcome, reason } }: Answered): boolean =>
  outcome === 'unknown' || reason === 'rateLimited'

/**
 * Describes how the request ended. `sendings` has one element for each of its nonces, undefined for a nonce
 * that was not sent after all. `answered` lists the transactions that were sent.
 */
export function endOf(
  replies: readonly RpcReply[],
  sendings: readonly (Sending | undefined)[],
  seen: {
    readonly kind: BatchAnswer['kind']
    readonly answered: readonly Answered[]
    readonly count: number | undefined
  },
): RequestEnd {
  const { kind, answered, count } = seen
  if (kind === 'refused' && replies.length > 1) return { end: 'batchRefused' }
  if (kind === 'silent' || kind === 'over' || kind === 'cut') return { end: 'failed' }
  let at = 0
  const answers = sendings.map((sending) => (sending && answered[at++]?.answer) ?? UNANSWERED)
  return { end: 'answers', answers, count }
}

/**
 * Updates the profile from the answers to a request. `sentFrom`: no nonce below it is missing. `lowest`: the
 * lowest nonce that is in no block.
 */
export function observeBatch(
  profile: ProfileWatch,
  answered: readonly Answered[],
  seen: {
    readonly kind: BatchAnswer['kind']
    readonly size: number
    readonly count: number | undefined
    readonly sentFrom: number
    readonly lowest: number
    readonly atMs: number
  },
): void {
  const { kind, size, count, sentFrom, lowest, atMs } = seen
  if (size > 1 && kind === 'answered') profile.observe({ kind: 'batchAnswered', size })
  if (size > 1 && kind === 'refused') profile.observe({ kind: 'batchRefused', size })
  observeGaps(profile, answered)
  if (count === undefined) return
  const sentUpTo = freshRun(answered, sentFrom)
  if (sentUpTo !== undefined) profile.observe({ kind: 'countAfterSend', sentFrom, sentUpTo, count, atMs })
  else if (answered.some((one) => one.nonce === lowest && isTaken(one)))
    profile.observe({ kind: 'countAfterResend', nonce: lowest, count })
}

/** The endpoint accepted the transaction, and did not report that it knew it before. */
const isTaken = ({ outcome: { outcome, reason } }: Answered): boolean =>
  outcome === 'accepted' && reason !== 'alreadyKnown'

/** Refusals because of a missing lower nonce show how many gapped transactions the endpoint pools. */
function observeGaps(profile: ProfileWatch, answered: readonly Answered[]): void {
  const taken = new Set<number>()
  for (const { nonce, outcome } of answered) {
    const { reason, expectedNonce = nonce } = outcome
    if (outcome.outcome === 'accepted') taken.add(nonce)
    if (reason === 'nonceTooHigh' && expectedNonce < nonce)
      profile.observe({ kind: 'gapRefused', overtook: taken.has(nonce - 1) })
  }
}

/**
 * The run of fresh nonces without a gap below that this batch had accepted. Only such a run shows which
 * nonces the count includes: a transaction that was known already may have come through another endpoint, and
 * anvil 1.7.1 excludes some known transactions from its count.
 */
function freshRun(answered: readonly Answered[], sentFrom: number): number | undefined {
  let next = sentFrom
  for (const one of answered) {
    if (one.nonce !== next || !one.isFresh || !isTaken(one)) break
    next++
  }
  return next > sentFrom ? next - 1 : undefined
}
