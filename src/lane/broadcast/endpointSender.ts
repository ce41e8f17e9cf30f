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

/** What an endpoint said of bytes that it was handed. */
export type Said = Answered & {
  readonly endpoint: PoolEndpoint
  /** As `posting` had it. */
  readonly awaited: boolean
  /** The endpoint refused the batch that it stood in: that is no word on the bytes. */
  readonly ofBatch: boolean
}

/**
 * The delivery of a lane's journaled bytes to one endpoint: its I/O. What leaves when, and what is lost, is decided by
 * `createDelivery`, within the endpoint's request budget.
 */
export type EndpointSender = {
  /** The newest attempt of this nonce is to be sent here; again, where the endpoint did not take the same bytes. */
  offer(nonce: number): void
  /** It was offered, and is not confirmed. */
  has(nonce: number): boolean
  /** The endpoint does not take its bytes. */
  isRefused(nonce: number): boolean
  /** Its pool keeps these bytes from blocks. */
  isStranded(nonce: number): boolean
  /** It stands still, and other endpoints are sent it as well. */
  sentElsewhere(nonce: number): void
  /** It is not to be sent here any more. */
  withdraw(nonce: number): void
  /** Forgets and returns what this endpoint does not have: for another endpoint. */
  reclaim(): readonly number[]
  /** A `pending` count of this endpoint that somebody else asked for. */
  counted(reading: CountReading): void
  /** A new pending block, or a sealed one. */
  refreshed(refresh: Pick<Refresh, 'sealed' | 'askedAtMs'>): boolean
  /** The most transactions of the account that no sealed block has used; undefined: as many as the pool takes. */
  limitAccount(max: number | undefined): void
  /** What was confirmed, or kept bytes back, may be another by now. */
  kick(): void
  readonly status: DeliveryStatus
  readonly isBusy: boolean
  stop(): void
}

export type EndpointSenderParts = {
  /** The first bytes of this nonce were handed over. */
  readonly sent: (nonce: number) => void
  /** Bytes of this nonce were handed over again. */
  readonly again: (nonce: number) => void
  /**
   * These bytes are about to be written; `said` follows for each. `awaited`: the endpoint is one that answers, so that
   * what others say of the same bytes can wait for its word.
   */
  readonly posting: (batch: readonly { readonly attempt: Attempt }[], awaited: boolean) => void
  readonly said: (said: Said) => void
  /** These are lost here, and sent again. */
  readonly repaired: (nonces: readonly number[]) => void
  /** The endpoint left us without an answer, or asked to be left alone. */
  readonly failed: (endpoint: PoolEndpoint) => void
  /** More may be handed out. */
  readonly freed: () => void
  readonly idle: () => void
}

type Send = Extract<DeliveryAction, { do: 'send' }>

/** For so long nobody waits for the word of an endpoint that did not answer a send. */
const SILENT_MS = 5_000
/** A timer that is so late was held up by more than a busy event loop. */
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
  // The request budget was asked for the action that is looked for.
  let isAsked = false
  // It is left alone, and what waits here may go elsewhere.
  let rested = false
  let acceptedTo = 0
  let confirmed: Confirmation = { latest: book.floor, confirmedTo: book.floor }

  // --- when it acts ------------------------------------------------------------------------------------------------

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
    // The endpoint may be shared, and stays open then.
    if (stopped || context.closed) return
    confirm()
    for (let action = next(); ; action = next()) {
      if (action.do === 'wait') return wait(action.untilMs)
      rested = false
      if (action.do === 'count') void count()
      else void send(action)
    }
  }

  /** The next action within the request budget. */
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
   * A process that was stopped wakes late, and what it knows is old: it looks at the chain before it takes its own sleep
   * for the endpoint's silence. Where no look is answered it goes on all the same.
   */
  function wake(dueMs: number): void {
    if (clock.now() - dueMs < SLEPT_MS) return schedule()
    endpointPool.tracker.lookNow()
    cancelWake = clock.setTimer(schedule, limits.readTimeoutMs)
  }

  /** What the pool of the endpoint that is read counts has arrived, by whatever way. */
  function confirmation(): Confirmation {
    return {
      latest: book.floor,
      confirmedTo: endpoint === endpointPool.reader ? book.confirmedTo : book.coveredTo,
    }
  }

  /** The bodies of blocks, a feed, or another endpoint may have shown more, or less. */
  function confirm(): void {
    const { latest, confirmedTo } = confirmation()
    if (latest === confirmed.latest && confirmedTo === confirmed.confirmedTo) return
    const isMore = confirmedTo > confirmed.confirmedTo
    confirmed = { latest, confirmedTo }
    delivery.confirmed(confirmed)
    if (isMore) parts.freed()
  }

  // --- what it sends -----------------------------------------------------------------------------------------------

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
    // Before they leave: what may be on its way is never taken back as unsent.
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
   * The endpoint may work on the next request while these answers are taken in. Any other answer may change what is sent,
   * and what the count includes is learnt from what was accepted before.
   */
  function isPlain(answered: readonly Answered[]): boolean {
    return profile.current().pending !== 'unknown' && answered.every(({ answer }) => answer.kind === 'taken')
  }

  function handed({ nonce, attempt }: Sending, kind: Send['kind']): void {
    lane.apply(nonce, { type: 'sent', hash: attempt.hash })
    if (attempt.sends === 0) parts.sent(nonce)
    else if (kind === 'repair') parts.again(nonce)
  }

  /** What was to be sent here may have been followed by something that this endpoint must not see. */
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

  // --- what comes back ---------------------------------------------------------------------------------------------

  function cover(counted: number): void {
    // Another may be read by now.
    if (endpoint === endpointPool.reader && profile.current().pending === 'mempool') lane.counted(counted)
    rememberIn(endpoint, delivery.status)
    parts.freed()
  }

  /** Where the run of accepted nonces that starts at the covered ones ends: there is no gap below. */
  function advanceAccepted(): number {
    acceptedTo = Math.max(acceptedTo, book.coveredTo)
    for (;;) {
      const slot = book.get(acceptedTo)
      if (slot?.state !== 'live' || newestAttempt(slot)?.accepted !== true) return acceptedTo
      acceptedTo++
    }
  }

  /** What the answer as a whole says: asked too often, nobody there. */
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

/** Written out: Node 20 gives each object that is spread and then added to a shape of its own. */
function saidBy(
  { endpoint, awaited, ofBatch }: Pick<Said, 'endpoint' | 'awaited' | 'ofBatch'>,
  { nonce, attempt, isFresh, outcome, answer, reply }: Answered,
): Said {
  return { nonce, attempt, isFresh, outcome, answer, reply, endpoint, awaited, ofBatch }
}
