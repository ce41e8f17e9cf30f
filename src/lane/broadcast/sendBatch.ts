import { readCount } from '../../chain/blocks/evidenceReplies.js'
import { answerOf, type SendAnswer } from '../../delivery/answer.js'
import type { RequestEnd } from '../../delivery/settle.js'
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
  /** As it was before it was handed over. */
  readonly attempt: Attempt
  /** Nobody has sent it, and nothing else was sent at its nonce. What an earlier process left may be in the pool. */
  readonly isFresh: boolean
}

/** It, with what the endpoint said of it. */
export type Answered = Sending & {
  readonly outcome: SendOutcome
  /** What the delivery makes of it. */
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
  // A refusal in words that nobody knows is one all the same: the lane asks again, at its own pace.
  const answer = isExplicitRefusal(reply, outcome) ? REFUSED : answerOf(outcome)
  const { nonce, attempt, isFresh } = sending
  return { nonce, attempt, isFresh, outcome, answer, reply }
}

const REFUSED: SendAnswer = { kind: 'refused' }
const UNANSWERED: SendAnswer = { kind: 'unanswered' }

/** What a `pending` count says; undefined where it was not answered. */
export function countOf(reply: RpcReply | undefined): number | undefined {
  const count = readCount(reply)
  return typeof count === 'number' ? count : undefined
}

/**
 * What the replies say of the batch. Where the endpoint says the same of each transaction, in words that are not known to be
 * about one, it may mean the batch: they go in smaller ones, down to one alone, whose answer counts.
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
 * How the request ended. `sendings`: one for each of its nonces, undefined for one that was not sent after all. `answered`:
 * those that were.
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

/** What the answers to a request show of the endpoint. `sentFrom`: there is no gap below. `lowest`: in no block. */
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

/** The endpoint took the transaction, and says that it did not have it before. */
const isTaken = ({ outcome: { outcome, reason } }: Answered): boolean =>
  outcome === 'accepted' && reason !== 'alreadyKnown'

/** Refusals for lack of a lower nonce tell how many gapped transactions it keeps. */
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
 * Fresh nonces without a gap below, all taken in this batch: only those tell what the count counts. What was known
 * already may have come by way of another endpoint, and anvil 1.7.1 keeps some that it knows out of its count.
 */
function freshRun(answered: readonly Answered[], sentFrom: number): number | undefined {
  let next = sentFrom
  for (const one of answered) {
    if (one.nonce !== next || !one.isFresh || !isTaken(one)) break
    next++
  }
  return next > sentFrom ? next - 1 : undefined
}
