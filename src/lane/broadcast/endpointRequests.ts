import type { Lane } from '../../allocator/lane.js'
import { readCount } from '../../chain/blocks/evidenceReads.js'
import { askGranted } from '../../chain/endpoints/budgetedPort.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import { canReceive } from '../../chain/endpoints/privateEndpoints.js'
import type { Delivery, DeliveryAction } from '../../delivery/delivery.js'
import { answerOf, type RequestEnd, type SendAnswer } from '../../delivery/settle.js'
import type { Book } from '../../ledger/book.js'
import { type Attempt, newestAttempt } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { type BatchAnswer, readBatchAnswer } from '../../rpc/batchAnswer.js'
import { countCall } from '../../rpc/codec.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { ProfileWatch } from '../../rpc/profile.js'
import type { Limits } from '../../types/index.js'
import type { EndpointSenderParts, Said, Ticket } from './endpointSender.js'
import { rememberIn } from './endpointTraits.js'
import { type SendForm, sendFormOf } from './syncSend.js'

export type EndpointRequestsContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'tracker' | 'turns'>
  readonly clock: Clock
  readonly limits: Limits
}

type EndpointRequestsParts = {
  readonly context: EndpointRequestsContext
  readonly endpoint: PoolEndpoint
  readonly delivery: Delivery
  readonly ticket: Pick<Ticket, 'take'>
  readonly parts: EndpointSenderParts
  /** Performs the actions that the delivery allows. */
  readonly step: () => void
  /** Does so in a microtask. */
  readonly schedule: () => void
}

/** The requests of one delivery: they send its nonces and read its counts. */
type EndpointRequests = {
  count(): Promise<void>
  send(action: Send): Promise<void>
  /** Number of requests under way. */
  readonly open: number
}

type Send = Extract<DeliveryAction, { do: 'send' }>

/** After an unanswered send, other endpoints' replies do not wait for this endpoint for this long. */
const SILENT_MS = 5_000

export function createEndpointRequests({
  context,
  endpoint,
  delivery,
  ticket,
  parts: callbacks,
  step,
  schedule,
}: EndpointRequestsParts): EndpointRequests {
  const { lane, endpointPool, limits, clock } = context
  const { book } = lane
  const { gate, profile, plain } = endpoint
  const { turns } = endpointPool
  const poolCount = countCall(lane.key.address, 'pending')
  const acceptedRun = createAcceptedRun(book)
  let open = 0

  async function count(): Promise<void> {
    const grant = ticket.take()
    open++
    const options = { timeoutMs: limits.readTimeoutMs }
    const [reply] = await askGranted(plain, gate, { calls: [poolCount], grant, options })
    open--
    const counted = countOf(reply)
    if (counted === undefined) delivery.countFailed()
    else {
      delivery.counted({ count: counted, askedAtMs: grant.atMs, atMs: clock.now() })
      cover(counted)
    }
    schedule()
  }

  async function send(action: Send): Promise<void> {
    const grant = ticket.take()
    open++
    const sendings = action.nonces.map(sendingAt)
    const batch = sendings.filter((one) => one !== undefined)
    const { sendTimeoutMs } = limits
    const form = sendFormOf(action, endpoint, { sendTimeoutMs, receiptWithinMs: callbacks.receiptWithinMs })
    const calls: RpcCall[] = batch.map(({ attempt }) => form.callOf(attempt))
    if (action.count) calls.push(poolCount)
    const sentFrom = action.count ? acceptedRun.advance() : 0
    const lowest = book.confirmedTo
    const awaited = !form.isSync && endpoint.silentUntilMs <= clock.now()
    if (action.kind === 'repair') callbacks.repaired(action.nonces)
    // Marked as sent before the request leaves: bytes that may be on their way are never taken back as
    // unsent.
    const handing = turns.each(batch, (sending) => handed(sending, action.kind))
    if (handing) await handing
    if (turns.isSpent()) await turns.room()
    callbacks.posting(batch, awaited)
    const options = { timeoutMs: form.timeoutMs }
    const replies = calls.length > 0 ? await askGranted(plain, gate, { calls, grant, options }) : []
    const answered = batch.map((sending, index) => answeredOf(sending, replies[index], form))
    const counted = action.count ? countOf(replies[batch.length]) : undefined
    const atMs = clock.now()
    const kind = batchKindOf(replies, answered)
    const end = endOf(replies, sendings, { kind, answered, count: counted })
    delivery.ended(action.request, end, atMs)
    observeBatch(profile, answered, { kind, size: replies.length, count: counted, sentFrom, lowest, atMs })
    if (counted !== undefined) cover(counted)
    noteWhole(answered, form)
    if (isPlain(endpoint, answered)) {
      if (turns.isSpent()) await turns.room()
      step()
    }
    const as = { endpoint, awaited, ofBatch: end.end === 'batchRefused' }
    const reporting = turns.each(answered, (each) => callbacks.said(saidBy(as, each)))
    if (reporting) await reporting
    open--
    schedule()
  }

  function handed({ nonce, attempt }: Sending, kind: Send['kind']): void {
    lane.apply(nonce, { type: 'sent', hash: attempt.hash })
    if (attempt.sends === 0) callbacks.sent(nonce)
    else if (kind === 'repair') callbacks.again(nonce)
  }

  /**
   * Returns undefined if the nonce was withdrawn, or if a replacement followed that this endpoint must not
   * see.
   */
  function sendingAt(nonce: number): Sending | undefined {
    const slot = book.get(nonce)
    const attempt = slot?.state === 'live' ? newestAttempt(slot) : undefined
    if (attempt === undefined || !canReceive(endpoint, attempt)) {
      delivery.withdraw(nonce)
      return undefined
    }
    const isOwn = attempt.epoch === lane.lease.epoch
    return { nonce, attempt, isFresh: isOwn && slot?.attempts.length === 1 && attempt.sends === 0 }
  }

  function cover(counted: number): void {
    // The lane may read from another endpoint by now.
    if (endpoint === endpointPool.reader && profile.current().pending === 'mempool') lane.counted(counted)
    rememberIn(endpoint, delivery.status)
    callbacks.freed()
  }

  /** Evaluates the reply as a whole: a rate limit, or an endpoint that cannot be reached. */
  function noteWhole(answered: readonly Answered[], { isSync }: SendForm): void {
    const [first] = answered
    if (first === undefined) return
    const { outcome, reason } = first.outcome
    const isOfMethod = isSync && reason === 'methodMissing'
    const isAnswer = outcome !== 'unknown' || isOfMethod || isExplicitRefusal(first.reply, first.outcome)
    endpoint.silentUntilMs = isAnswer ? 0 : clock.now() + SILENT_MS
    if (!isAnswer || answered.some(({ answer }) => answer.kind === 'limited')) callbacks.failed(endpoint)
  }

  return {
    count,
    send,
    get open() {
      return open
    },
  }
}

/** The end of the run of accepted nonces that starts at the covered ones, without a gap below. */
function createAcceptedRun(book: Pick<Book, 'coveredTo' | 'get'>): { advance(): number } {
  let acceptedTo = 0
  return {
    advance() {
      acceptedTo = Math.max(acceptedTo, book.coveredTo)
      for (;;) {
        const slot = book.get(acceptedTo)
        if (slot?.state !== 'live' || newestAttempt(slot)?.accepted !== true) return acceptedTo
        acceptedTo++
      }
    },
  }
}

/**
 * Returns true if every transaction was accepted. The endpoint may then process the next request while these
 * answers are evaluated. Any other answer may change the next request, and the profile learns from accepted
 * transactions which nonces the count includes.
 */
function isPlain({ profile }: PoolEndpoint, answered: readonly Answered[]): boolean {
  return profile.current().pending !== 'unknown' && answered.every(({ answer }) => answer.kind === 'taken')
}

/**
 * Fields are listed, not spread: Node 20 gives each object that is spread and then extended a hidden class of
 * its own.
 */
function saidBy(
  { endpoint, awaited, ofBatch }: Pick<Said, 'endpoint' | 'awaited' | 'ofBatch'>,
  { nonce, attempt, isFresh, outcome, answer, reply }: Answered,
): Said {
  return { nonce, attempt, isFresh, outcome, answer, reply, endpoint, awaited, ofBatch }
}

/** One transaction in a request. */
type Sending = {
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

function answeredOf(sending: Sending, reply: RpcReply | undefined, form: SendForm): Answered {
  const outcome = form.outcomeOf(sending.attempt, reply)
  // A refusal in an unknown message is still a refusal: the lane offers the bytes again at its own pace.
  const answer = isExplicitRefusal(reply, outcome) ? REFUSED : answerOf(outcome)
  const { nonce, attempt, isFresh } = sending
  return { nonce, attempt, isFresh, outcome, answer, reply }
}

const REFUSED: SendAnswer = { kind: 'refused' }
const UNANSWERED: SendAnswer = { kind: 'unanswered' }

/** The value of a `pending` count; undefined if the call was not answered. */
function countOf(reply: RpcReply | undefined): number | undefined {
  const count = readCount(reply)
  return typeof count === 'number' ? count : undefined
}

/**
 * Interprets the replies as a reply to the batch. If the endpoint gives every transaction the same error, and
 * the error is not known to be about a single transaction, it may be about the batch. The transactions are
 * then sent in smaller batches, down to a single transaction, whose answer counts.
 */
function batchKindOf(replies: readonly RpcReply[], answered: readonly Answered[]): BatchAnswer['kind'] {
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
function endOf(
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
function observeBatch(
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
