import type { Lane } from '../../allocator/lane.js'
import { askGranted } from '../../chain/endpoints/budgetedPort.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import { canReceive } from '../../chain/endpoints/privateEndpoints.js'
import type { CountReading } from '../../delivery/count.js'
import { createDelivery, type DeliveryAction, type DeliveryStatus } from '../../delivery/delivery.js'
import type { Confirmation, Refresh } from '../../delivery/retransmit.js'
import type { Demand } from '../../delivery/select.js'
import { type Attempt, newestAttempt } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import { countCall } from '../../rpc/codec.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { RpcCall } from '../../rpc/port.js'
import type { Limits } from '../../types/index.js'
import { deliveryOptionsOf, rememberIn, traitsOf } from './endpointTraits.js'
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
import { createTicket } from './ticket.js'

type EndpointSenderContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly closed: boolean
}

/** The reply of an endpoint to one transaction that it was sent. */
export type Said = Answered & {
  readonly endpoint: PoolEndpoint
  /** The value that `posting` was called with. */
  readonly awaited: boolean
  /** The endpoint refused the whole batch, so that its reply says nothing about these bytes. */
  readonly ofBatch: boolean
}

/**
 * The delivery of a lane's journaled bytes to one endpoint: its I/O. `createDelivery` decides which bytes
 * leave when, and which are lost. The endpoint's request budget limits it.
 */
export type EndpointSender = {
  /**
   * Sends the newest attempt of this nonce to this endpoint. An attempt that the endpoint did not accept is
   * sent again.
   */
  offer(nonce: number): void
  /** The nonce was offered and is not confirmed yet. */
  has(nonce: number): boolean
  /** The endpoint does not accept the bytes of this nonce. */
  isRefused(nonce: number): boolean
  /** The endpoint's pool keeps these bytes out of blocks. */
  isStranded(nonce: number): boolean
  /** The nonce makes no progress, and other endpoints receive it as well. */
  sentElsewhere(nonce: number): void
  /** Stops sending this nonce to this endpoint. */
  withdraw(nonce: number): void
  /**
   * Forgets and returns the nonces that this endpoint does not have, so that another endpoint can receive
   * them.
   */
  reclaim(): readonly number[]
  /** A `pending` count of this endpoint that another component requested. */
  counted(reading: CountReading): void
  /** A new pending block, or a sealed one. */
  refreshed(refresh: Pick<Refresh, 'sealed' | 'askedAtMs'>): boolean
  /**
   * Limits the account's transactions that no sealed block has used. Undefined means that only the pool
   * limits them.
   */
  limitAccount(max: number | undefined): void
  /** Checks again, because confirmations, or a reason to hold bytes back, may have changed. */
  kick(): void
  readonly status: DeliveryStatus
  readonly isBusy: boolean
  stop(): void
}

export type EndpointSenderParts = {
  /** The bytes of this nonce were sent for the first time. */
  readonly sent: (nonce: number) => void
  /** The bytes of this nonce were sent again. */
  readonly again: (nonce: number) => void
  /**
   * These bytes are about to be written; `said` follows for each. `awaited`: the endpoint usually answers, so
   * that other endpoints' answers about the same bytes wait for its answer.
   */
  readonly posting: (batch: readonly { readonly attempt: Attempt }[], awaited: boolean) => void
  readonly said: (said: Said) => void
  /** The endpoint lost these nonces, and they are sent again. */
  readonly repaired: (nonces: readonly number[]) => void
  /** The endpoint did not answer, or asked for a pause. */
  readonly failed: (endpoint: PoolEndpoint) => void
  /** More nonces may be reserved. */
  readonly freed: () => void
  readonly idle: () => void
}

type Send = Extract<DeliveryAction, { do: 'send' }>

/** After an unanswered send, other endpoints' replies do not wait for this endpoint for this long. */
const SILENT_MS = 5_000
/** A timer that is this late was delayed by more than a busy event loop. */
const SLEPT_MS = 1_000

export function createEndpointSender(
  context: EndpointSenderContext,
  endpoint: PoolEndpoint,
  parts: EndpointSenderParts,
): EndpointSender {
  const { lane, endpointPool, limits, clock } = context
  const { book } = lane
  const { gate, profile, plain } = endpoint
  const delivery = createDelivery(deliveryOptionsOf(endpoint, limits, book.floor))
  delivery.know(traitsOf(endpoint))
  const offProfile = profile.onChange(() => {
    delivery.know(traitsOf(endpoint))
    schedule()
  })
  const ticket = createTicket(gate, schedule)
  let open = 0
  let scheduled = false
  let stopped = false
  let cancelWake: CancelTimer | undefined
  // The request budget was asked on behalf of the current action.
  let isAsked = false
  // The endpoint asked for a pause, so that nonces that wait here may go to other endpoints.
  let rested = false
  let acceptedTo = 0
  let confirmed: Confirmation = { latest: book.floor, confirmedTo: book.floor }

  // --- scheduling
  // --------------------------------------------------------------------------------------------------

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    queueMicro(() => {
      scheduled = false
      step()
      if (open === 0) parts.idle()
    })
  }

  function step(): void {
    cancelWake?.()
    cancelWake = undefined
    // The endpoint may be shared with other lanes, so that closing this lane does not stop it.
    if (stopped || context.closed) return
    confirm()
    for (let action = next(); ; action = next()) {
      if (action.do === 'wait') return wait(action.untilMs)
      rested = false
      if (action.do === 'count') void count()
      else void send(action)
    }
  }

  /** The next action that the request budget allows. */
  function next(): DeliveryAction {
    isAsked = false
    const below = book.lowestUncommitted() ?? Number.POSITIVE_INFINITY
    const action = delivery.next({ nowMs: clock.now(), below, grant })
    if (!isAsked) ticket.close()
    return action
  }

  function grant(demand: Demand): number {
    isAsked = true
    return ticket.ask(demand)
  }

  function wait(untilMs: number | undefined): void {
    ticket.drop()
    if (untilMs !== undefined)
      cancelWake = clock.setTimer(() => wake(untilMs), Math.max(1, untilMs - clock.now()))
    if (rested || !ticket.isResting) return
    rested = true
    parts.failed(endpoint)
  }

  /**
   * A suspended process wakes late, and its state is stale. It polls the chain before it interprets its own
   * suspension as silence of the endpoint. It continues after a timeout even if no poll is answered.
   */
  function wake(dueMs: number): void {
    if (clock.now() - dueMs < SLEPT_MS) return schedule()
    endpointPool.tracker.lookNow()
    cancelWake = clock.setTimer(schedule, limits.readTimeoutMs)
  }

  /**
   * Nonces that the pool of the read endpoint counts have arrived, regardless of the endpoint that sent them.
   */
  function confirmation(): Confirmation {
    return {
      latest: book.floor,
      confirmedTo: endpoint === endpointPool.reader ? book.confirmedTo : book.coveredTo,
    }
  }

  /** Block bodies, a feed, or another endpoint may have confirmed more nonces, or fewer. */
  function confirm(): void {
    const { latest, confirmedTo } = confirmation()
    if (latest === confirmed.latest && confirmedTo === confirmed.confirmedTo) return
    const isMore = confirmedTo > confirmed.confirmedTo
    confirmed = { latest, confirmedTo }
    delivery.confirmed(confirmed)
    if (isMore) parts.freed()
  }

  // --- requests
  // ----------------------------------------------------------------------------------------------------

  const poolCount = countCall(lane.key.address, 'pending')

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
    const calls: RpcCall[] = batch.map(sendOf)
    if (action.count) calls.push(poolCount)
    const sentFrom = action.count ? advanceAccepted() : 0
    const lowest = book.confirmedTo
    const awaited = endpoint.silentUntilMs <= clock.now()
    if (action.kind === 'repair') parts.repaired(action.nonces)
    // Marked as sent before the request leaves: bytes that may be on their way are never taken back as
    // unsent.
    const handing = endpointPool.turns.each(batch, (sending) => handed(sending, action.kind))
    if (handing) await handing
    if (endpointPool.turns.isSpent()) await endpointPool.turns.room()
    parts.posting(batch, awaited)
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
    if (isPlain(answered)) {
      if (endpointPool.turns.isSpent()) await endpointPool.turns.room()
      step()
    }
    const as = { endpoint, awaited, ofBatch: end.end === 'batchRefused' }
    const telling = endpointPool.turns.each(answered, (each) => parts.said(saidBy(as, each)))
    if (telling) await telling
    open--
    schedule()
  }

  /**
   * Returns true if every transaction was accepted. The endpoint may then process the next request while
   * these answers are evaluated. Any other answer may change the next request, and the profile learns from
   * accepted transactions which nonces the count includes.
   */
  function isPlain(answered: readonly Answered[]): boolean {
    return profile.current().pending !== 'unknown' && answered.every(({ answer }) => answer.kind === 'taken')
  }

  function handed({ nonce, attempt }: Sending, kind: Send['kind']): void {
    lane.apply(nonce, { type: 'sent', hash: attempt.hash })
    if (attempt.sends === 0) parts.sent(nonce)
    else if (kind === 'repair') parts.again(nonce)
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

  // --- replies
  // -----------------------------------------------------------------------------------------------------

  function cover(counted: number): void {
    // The lane may read from another endpoint by now.
    if (endpoint === endpointPool.reader && profile.current().pending === 'mempool') lane.counted(counted)
    rememberIn(endpoint, delivery.status)
    parts.freed()
  }

  /** The end of the run of accepted nonces that starts at the covered ones, without a gap below. */
  function advanceAccepted(): number {
    acceptedTo = Math.max(acceptedTo, book.coveredTo)
    for (;;) {
      const slot = book.get(acceptedTo)
      if (slot?.state !== 'live' || newestAttempt(slot)?.accepted !== true) return acceptedTo
      acceptedTo++
    }
  }

  /** Evaluates the reply as a whole: a rate limit, or an endpoint that cannot be reached. */
  function noteWhole(answered: readonly Answered[]): void {
    const [first] = answered
    if (first === undefined) return
    const isAnswer = first.outcome.outcome !== 'unknown' || isExplicitRefusal(first.reply, first.outcome)
    endpoint.silentUntilMs = isAnswer ? 0 : clock.now() + SILENT_MS
    if (!isAnswer || answered.some(({ answer }) => answer.kind === 'limited')) parts.failed(endpoint)
  }

  return {
    offer(nonce) {
      const slot = book.get(nonce)
      const attempt = slot && newestAttempt(slot)
      if (attempt === undefined) return
      confirm()
      delivery.offer(nonce, attempt.raw.length, attempt.hash)
      schedule()
    },
    has: delivery.has,
    isRefused: delivery.isRefused,
    isStranded: delivery.isStranded,
    sentElsewhere: delivery.sentElsewhere,
    withdraw: delivery.withdraw,
    reclaim() {
      schedule()
      return delivery.reclaim()
    },
    counted(reading) {
      delivery.counted(reading)
      schedule()
    },
    refreshed(refresh) {
      confirmed = confirmation()
      const isTelling = delivery.refreshed({ ...confirmed, ...refresh, atMs: clock.now() })
      rememberIn(endpoint, delivery.status)
      parts.freed()
      schedule()
      return isTelling
    },
    limitAccount(accountMax) {
      delivery.know({ accountMax })
      schedule()
    },
    kick: schedule,
    status: delivery.status,
    get isBusy() {
      return open > 0 || scheduled
    },
    stop() {
      stopped = true
      ticket.close()
      cancelWake?.()
      offProfile()
    },
  }
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
