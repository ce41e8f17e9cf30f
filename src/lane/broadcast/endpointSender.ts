import type { Tracker } from '../../chain/blocks/blockPoller.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { Grant, RequestGate } from '../../chain/endpoints/requestGate.js'
import type { CountReading } from '../../delivery/count.js'
import {
  createDelivery,
  type Delivery,
  type DeliveryAction,
  type DeliveryStatus,
} from '../../delivery/delivery.js'
import type { Priority } from '../../delivery/requestBudget.js'
import type { Confirmation, Refresh } from '../../delivery/retransmit.js'
import type { Demand } from '../../delivery/select.js'
import type { Book } from '../../ledger/book.js'
import { type Attempt, newestAttempt } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import { type Answered, createEndpointRequests, type EndpointRequestsContext } from './endpointRequests.js'
import { deliveryOptionsOf, rememberIn, traitsOf } from './endpointTraits.js'

export type EndpointSenderContext = EndpointRequestsContext & {
  readonly closed: boolean
}

/** The reply of an endpoint to one transaction that it was sent. */
export type Said = Answered & {
  readonly endpoint: PoolEndpoint
  /** The value that `posting` was called with. */
  readonly awaited: boolean
  /** The endpoint refused the whole batch, so its reply says nothing about these bytes. */
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
   * other endpoints' answers about the same bytes wait for its answer.
   */
  readonly posting: (batch: readonly { readonly attempt: Attempt }[], awaited: boolean) => void
  readonly said: (said: Said) => void
  /** A count stands in for the lost answer about these bytes. */
  readonly counted: (nonce: number, hash: string | undefined) => void
  /**
   * For how many milliseconds a caller waits for the receipt of this nonce; undefined if no caller does, or if
   * the lane has other transactions to send.
   */
  readonly receiptWithinMs: (nonce: number) => number | undefined
  /** The endpoint lost these nonces, and they are sent again. */
  readonly repaired: (nonces: readonly number[]) => void
  /** The endpoint did not answer, or asked for a pause. */
  readonly failed: (endpoint: PoolEndpoint) => void
  /** More nonces may be reserved. */
  readonly freed: () => void
  readonly idle: () => void
}

export function createEndpointSender(
  context: EndpointSenderContext,
  endpoint: PoolEndpoint,
  parts: EndpointSenderParts,
): EndpointSender {
  const { lane, endpointPool, limits, clock } = context
  const { book } = lane
  const { profile } = endpoint
  const { tracker } = endpointPool
  let scheduled = false
  let stopped = false
  // The request budget was asked on behalf of the current action.
  let isAsked = false
  // The endpoint asked for a pause, so nonces that wait here may go to other endpoints.
  let rested = false
  const delivery = createDelivery(deliveryOptionsOf(endpoint, limits, book.floor))
  delivery.know(traitsOf(endpoint))
  const offProfile = profile.onChange(() => {
    delivery.know(traitsOf(endpoint))
    schedule()
  })
  const confirmations = createConfirmations({ endpointPool, endpoint, book, delivery, freed: parts.freed })
  const ticket = createTicket(endpoint.gate, schedule)
  const timer = createWakeTimer({ clock, tracker, readTimeoutMs: limits.readTimeoutMs, due: schedule })
  const requests = createEndpointRequests({ context, endpoint, delivery, ticket, parts, step, schedule })

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    queueMicro(() => {
      scheduled = false
      step()
      if (requests.open === 0) parts.idle()
    })
  }

  function step(): void {
    timer.cancel()
    // The endpoint may be shared with other lanes, so closing this lane does not stop it.
    if (stopped || context.closed) return
    confirmations.update()
    for (let action = next(); ; action = next()) {
      if (action.do === 'wait') return wait(action.untilMs)
      rested = false
      if (action.do === 'accept') parts.counted(action.nonce, action.bytes)
      else if (action.do === 'count') void requests.count()
      else void requests.send(action)
    }
  }

  /** The next action that the request budget allows. */
  function next(): DeliveryAction {
    isAsked = false
    const below = book.lowestUncommitted() ?? Number.POSITIVE_INFINITY
    const action = delivery.next({ nowMs: clock.now(), below, grant, awaitsReceipt })
    if (!isAsked) ticket.close()
    return action
  }

  const awaitsReceipt = (nonce: number) => parts.receiptWithinMs(nonce) !== undefined

  function grant(demand: Demand): number {
    isAsked = true
    return ticket.ask(demand)
  }

  function wait(untilMs: number | undefined): void {
    ticket.drop()
    if (untilMs !== undefined) timer.set(untilMs)
    if (rested || !ticket.isResting) return
    rested = true
    parts.failed(endpoint)
  }

  return {
    offer(nonce) {
      const slot = book.get(nonce)
      const attempt = slot && newestAttempt(slot)
      if (attempt === undefined) return
      confirmations.update()
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
      const isInformative = delivery.refreshed({ ...confirmations.take(), ...refresh, atMs: clock.now() })
      rememberIn(endpoint, delivery.status)
      parts.freed()
      schedule()
      return isInformative
    },
    limitAccount(accountMax) {
      delivery.know({ accountMax })
      schedule()
    },
    kick: schedule,
    status: delivery.status,
    get isBusy() {
      return requests.open > 0 || scheduled
    },
    stop() {
      stopped = true
      ticket.close()
      timer.cancel()
      offProfile()
    },
  }
}

/** Passes confirmed nonces on to the delivery of one endpoint. */
function createConfirmations(parts: {
  readonly endpointPool: Pick<EndpointPool, 'reader'>
  readonly endpoint: PoolEndpoint
  readonly book: Pick<Book, 'floor' | 'confirmedTo' | 'coveredTo'>
  readonly delivery: Pick<Delivery, 'confirmed'>
  readonly freed: () => void
}) {
  const { endpointPool, endpoint, book, delivery, freed } = parts
  let last: Confirmation = { latest: book.floor, confirmedTo: book.floor }

  /**
   * Nonces that the pool of the read endpoint counts have arrived, regardless of the endpoint that sent them.
   */
  function current(): Confirmation {
    return {
      latest: book.floor,
      confirmedTo: endpoint === endpointPool.reader ? book.confirmedTo : book.coveredTo,
    }
  }

  return {
    /** Returns the current state, which the caller passes on. */
    take(): Confirmation {
      last = current()
      return last
    },
    /** Block bodies, a feed, or another endpoint may have confirmed more nonces, or fewer. */
    update(): void {
      const { latest, confirmedTo } = current()
      if (latest === last.latest && confirmedTo === last.confirmedTo) return
      const isMore = confirmedTo > last.confirmedTo
      last = { latest, confirmedTo }
      delivery.confirmed(last)
      if (isMore) freed()
    },
  }
}

/** A delivery's position in the queue of an endpoint's request budget. */
export type Ticket = {
  /**
   * Requests calls for the current demand of the delivery. Returns the number of calls that may leave now.
   */
  ask(demand: Demand): number
  /** Takes the current grant for use. */
  take(): Grant
  /** Stops waiting for a grant, because the delivery needs none. */
  close(): void
  /** Discards an unused grant, because nothing leaves now. */
  drop(): void
  /** The endpoint asked for a pause, so no grant can come at the moment. */
  readonly isResting: boolean
}

const PRIORITY: Record<Demand['kind'], Priority> = {
  repair: 'repair',
  new: 'send',
  sync: 'send',
  count: 'evidence',
}

/** `granted` is called if a grant arrives after `ask` has returned. */
function createTicket(gate: RequestGate, granted: () => void): Ticket {
  let open: { readonly demand: Demand; readonly withdraw: () => void } | undefined
  let grant: Grant | undefined

  function close(): void {
    open?.withdraw()
    open = undefined
  }

  function ask(demand: Demand): void {
    if (open?.demand.kind === demand.kind && open.demand.calls === demand.calls) return
    close()
    const withdraw = gate.ask({ priority: PRIORITY[demand.kind], calls: demand.calls }, (given) => {
      grant = given
      if (open === undefined) return
      open = undefined
      granted()
    })
    if (grant === undefined) open = { demand, withdraw }
  }

  return {
    ask(demand) {
      if (grant === undefined) ask(demand)
      return grant?.calls ?? 0
    },
    close,
    take() {
      if (grant === undefined) throw new Error('Nothing was granted.')
      const taken = grant
      grant = undefined
      return taken
    },
    drop() {
      grant = undefined
    },
    get isResting() {
      return open !== undefined && gate.isBlocked
    },
  }
}

type WakeTimerParts = {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  readonly tracker: Pick<Tracker, 'lookNow'>
  readonly readTimeoutMs: number
  readonly due: () => void
}

/** A timer that recognises that the process was suspended. */
type WakeTimer = {
  set(untilMs: number): void
  cancel(): void
}

/** A timer that is this late was delayed by more than a busy event loop. */
const SLEPT_MS = 1_000

function createWakeTimer({ clock, tracker, readTimeoutMs, due }: WakeTimerParts): WakeTimer {
  let cancelTimer: CancelTimer | undefined

  /**
   * A suspended process wakes late, and its state is stale. It polls the chain before it interprets its own
   * suspension as silence of the endpoint. It continues after a timeout even if no poll is answered.
   */
  function wake(dueMs: number): void {
    if (clock.now() - dueMs < SLEPT_MS) return due()
    tracker.lookNow()
    cancelTimer = clock.setTimer(due, readTimeoutMs)
  }

  return {
    set(untilMs) {
      cancelTimer = clock.setTimer(() => wake(untilMs), Math.max(1, untilMs - clock.now()))
    },
    cancel() {
      cancelTimer?.()
      cancelTimer = undefined
    },
  }
}
