import type { Lane } from '../../allocator/lane.js'
import { askGranted } from '../../chain/endpoints/budgetedPort.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import { canReceive } from '../../chain/endpoints/privateEndpoints.js'
import type { Delivery, DeliveryAction } from '../../delivery/delivery.js'
import type { Book } from '../../ledger/book.js'
import { newestAttempt } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { countCall } from '../../rpc/codec.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { RpcCall } from '../../rpc/port.js'
import type { Limits } from '../../types/index.js'
import type { EndpointSenderParts, Said } from './endpointSender.js'
import { rememberIn } from './endpointTraits.js'
import {
  type Answered,
  answeredOf,
  batchKindOf,
  countOf,
  endOf,
  observeBatch,
  type Sending,
  sendOf,
} from './sendBatch.js'
import type { Ticket } from './ticket.js'

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
  readonly callbacks: EndpointSenderParts
  /** Performs the actions that the delivery allows: now, or in a microtask. */
  readonly loop: { readonly step: () => void; readonly schedule: () => void }
}

/** The requests of one delivery: they send its nonces and read its counts. */
export type EndpointRequests = {
  count(): Promise<void>
  send(action: Send): Promise<void>
  /** Number of requests under way. */
  readonly open: number
}

type Send = Extract<DeliveryAction, { do: 'send' }>

/** After an unanswered send, other endpoints' replies do not wait for this endpoint for this long. */
const SILENT_MS = 5_000

export function createEndpointRequests(parts: EndpointRequestsParts): EndpointRequests {
  const { endpoint, delivery, ticket, callbacks, loop } = parts
  const { lane, endpointPool, limits, clock } = parts.context
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
    loop.schedule()
  }

  async function send(action: Send): Promise<void> {
    const grant = ticket.take()
    open++
    const sendings = action.nonces.map(sendingAt)
    const batch = sendings.filter((one) => one !== undefined)
    const calls: RpcCall[] = batch.map(sendOf)
    if (action.count) calls.push(poolCount)
    const sentFrom = action.count ? acceptedRun.advance() : 0
    const lowest = book.confirmedTo
    const awaited = endpoint.silentUntilMs <= clock.now()
    if (action.kind === 'repair') callbacks.repaired(action.nonces)
    // Marked as sent before the request leaves: bytes that may be on their way are never taken back as
    // unsent.
    const handing = turns.each(batch, (sending) => handed(sending, action.kind))
    if (handing) await handing
    if (turns.isSpent()) await turns.room()
    callbacks.posting(batch, awaited)
    const options = { timeoutMs: limits.sendTimeoutMs }
    const replies = calls.length > 0 ? await askGranted(plain, gate, { calls, grant, options }) : []
    const answered = batch.map((sending, index) => answeredOf(sending, replies[index]))
    const counted = action.count ? countOf(replies[batch.length]) : undefined
    const atMs = clock.now()
    const kind = batchKindOf(replies, answered)
    const end = endOf(replies, sendings, { kind, answered, count: counted })
    delivery.ended(action.request, end, atMs)
    observeBatch(profile, answered, { kind, size: replies.length, count: counted, sentFrom, lowest, atMs })
    if (counted !== undefined) cover(counted)
    noteWhole(answered)
    if (isPlain(endpoint, answered)) {
      if (turns.isSpent()) await turns.room()
      loop.step()
    }
    const as = { endpoint, awaited, ofBatch: end.end === 'batchRefused' }
    const reporting = turns.each(answered, (each) => callbacks.said(saidBy(as, each)))
    if (reporting) await reporting
    open--
    loop.schedule()
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
  function noteWhole(answered: readonly Answered[]): void {
    const [first] = answered
    if (first === undefined) return
    const isAnswer = first.outcome.outcome !== 'unknown' || isExplicitRefusal(first.reply, first.outcome)
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
