import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { CountReading } from '../../delivery/count.js'
import type { DeliveryStatus } from '../../delivery/delivery.js'
import type { Refresh } from '../../delivery/retransmit.js'
import type { Book } from '../../ledger/book.js'
import type { Clock } from '../../platform/clock.js'
import { createDoneWaiters } from '../../platform/doneWaiters.js'
import type { Limits, Tx } from '../../types/index.js'
import type { Emitter } from '../emitter.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import { tuplesOf } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'
import {
  createEndpointSender,
  type EndpointSender,
  type EndpointSenderContext,
  type EndpointSenderParts,
  type Said,
} from './endpointSender.js'
import { createFanOut, createOffers, createRecipients, PUBLIC } from './fanOut.js'
import { createSendReport, createSendResults, type SendResultsParts } from './sendResults.js'
import { createSyncSends } from './syncSend.js'

type BroadcastContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<
    EndpointPool,
    'endpoints' | 'reader' | 'receipts' | 'senders' | 'tracker' | 'turns'
  >
  readonly clock: Clock
  readonly limits: Limits
  readonly events: Emitter
  readonly fees: FeeOracle
  readonly broadcast: 'first' | 'all'
  signer: LocalAccount | undefined
  readonly transactions: Map<string, Transaction>
  txOf(transaction: Transaction): Tx
  readonly closed: boolean
  blockedAt: number
}

type BroadcastParts = Omit<SendResultsParts, 'broadcaster'> & {
  /** More nonces may be reserved. */
  readonly freed: () => void
  /** The number of transactions that wait for a nonce. */
  readonly waiting: () => number
}

/**
 * Chooses the endpoints for journaled bytes: one endpoint, or every endpoint if the lane is configured so or
 * if the bytes have to be sent again. The delivery of each endpoint decides the time of a send. The table
 * decides about the attempt.
 */
export type Broadcaster = {
  /** Sends the newest attempt of this nonce. */
  add(nonce: number): void
  /**
   * Sends the bytes to every endpoint that can receive them. An endpoint that already has them sends lost
   * bytes again by itself.
   */
  again(nonce: number): void
  /**
   * Offers the bytes also to the endpoints that do not have them, because one endpoint did not answer or does
   * not accept them now.
   */
  elsewhere(nonce: number): void
  /** Sends the same bytes again (`resend` and `backOff` of the table). */
  later(nonce: number): void
  /**
   * Re-sends the attempts of an earlier process that no count covers. Inherited attempts count as possibly
   * sent, and they go before anything new.
   */
  resume(): void
  /**
   * The chain or the pool counts this many nonces. Attempts of an earlier process at or above the count are
   * re-sent after all.
   */
  claimed(count: number): void
  /** Stops sending this nonce, because nothing is bound to it. */
  withdraw(nonce: number): void
  /** An endpoint is responsible for this nonce, and re-sends the bytes if they are lost. */
  delivers(nonce: number): boolean
  /** An endpoint is responsible for this nonce, and its newest bytes have not been sent yet. */
  holdsBack(nonce: number): boolean
  /** A pool accepts the bytes but does not count them, so only different bytes can replace them. */
  isStranded(nonce: number): boolean
  /** A caller waits for the receipt of a transaction: the endpoints are asked whether they answer a send with it. */
  receiptAwaited(): void
  /** Passes on a `pending` count of the endpoint that the lane reads from. */
  counted(reading: CountReading): void
  /**
   * A new pending block, or a sealed one. The caller has already processed its transactions. Returns false if
   * the block was requested too soon after a send to say anything about that send.
   */
  refreshed(refresh: Pick<Refresh, 'sealed' | 'askedAtMs'>): boolean
  /**
   * Limits the number of transactions that no sealed block has used yet. Undefined means that only the
   * endpoint limits them.
   */
  limitAccount(max: number | undefined): void
  /**
   * Checks again, because a reason to hold bytes back (a lower reservation, an endpoint that was unavailable)
   * may have ended.
   */
  kick(): void
  /** Number of further nonces that may be reserved. */
  readonly room: number
  /** Like `room > 0`, but a hole always has room, because all higher nonces wait for it. */
  readonly hasRoom: boolean
  /**
   * Number of nonces that may be at the endpoint that receives new ones, neither sealed nor acknowledged.
   */
  readonly window: number
  /** Resolves when no request is open. */
  idle(): Promise<void>
  stop(): void
}

export function createBroadcaster(context: BroadcastContext, parts: BroadcastParts): Broadcaster {
  const { lane, endpointPool, clock, limits, broadcast, transactions } = context
  const { book } = lane
  const { sent, freed } = parts
  const idlers = createDoneWaiters(() => isIdle())
  const recipients = createRecipients(endpointPool)
  const results = createSendResults(context, { ...parts, broadcaster: () => offers })
  const syncSends = createSyncSends(context, { ...parts, recipients })
  const { posting, said } = createFanOut({
    clock,
    recipients,
    isBarred: (reply) => isBarred(book, transactions, reply),
    report: createSendReport(context, { sent, outcome: results.take }),
  })
  const senders = createEndpointSenders(context, {
    sent,
    again: reportAgain,
    freed,
    posting,
    said(reply) {
      said(reply)
      syncSends.said(reply)
    },
    counted: results.counted,
    receiptWithinMs: syncSends.receiptWithinMs,
    repaired(nonces) {
      if (recipients.several) for (const nonce of nonces) offers.elsewhere(nonce)
    },
    failed,
    idle: idlers.check,
  })
  const offers = createOffers({ book, recipients, senders, broadcast })

  /** The same bytes were sent again. */
  function reportAgain(nonce: number): void {
    const transaction = parts.transactionOf(nonce)
    if (transaction) context.events.emit('rebroadcast', { tx: context.txOf(transaction) })
  }

  /**
   * The endpoint did not answer. Nonces that it does not have go to the other endpoints, if they may receive
   * them.
   */
  function failed(endpoint: PoolEndpoint): void {
    recipients.skip(endpoint)
    const others = endpointPool.senders().filter((one) => one !== endpoint && !one.gate.isBlocked)
    if (others.length === 0 || broadcast === 'all') return
    for (const nonce of senders.find(endpoint)?.reclaim() ?? []) offers.move(nonce, endpoint)
  }

  /** The status of the endpoint that receives new nonces. */
  function primary(): DeliveryStatus | undefined {
    const [endpoint] = recipients.of(PUBLIC, false)
    return endpoint && senders.of(endpoint).status
  }

  const room = () => roomAt(primary(), book, limits.window)

  const isIdle = () => !senders.some(({ isBusy }) => isBusy)

  return {
    add(nonce) {
      if (syncSends.receiptWithinMs(nonce) !== undefined) syncSends.receiptAwaited()
      offers.add(nonce)
    },
    receiptAwaited: syncSends.receiptAwaited,
    again: offers.again,
    elsewhere: offers.elsewhere,
    later: results.later,
    resume: offers.resume,
    claimed: offers.claimed,
    withdraw: offers.withdraw,
    delivers: offers.delivers,
    holdsBack: offers.holdsBack,
    isStranded: (nonce) => senders.some((sender) => sender.isStranded(nonce)),
    counted: (reading) => senders.find(endpointPool.reader)?.counted(reading),
    refreshed(refresh) {
      let isInformative = true
      for (const sender of senders.all()) if (!sender.refreshed(refresh)) isInformative = false
      return isInformative
    },
    limitAccount(max) {
      if (senders.limitAccount(max)) freed()
    },
    kick() {
      for (const sender of senders.all()) sender.kick()
      offers.retry()
    },
    get room() {
      return room()
    },
    get hasRoom() {
      return book.lowestHole() !== undefined || room() > 0
    },
    get window() {
      return primary()?.most ?? limits.window
    },
    idle: idlers.add,
    stop() {
      for (const sender of senders.all()) sender.stop()
    },
  }
}

/**
 * Number of nonces that may be reserved. Nonces that are reserved but not offered yet count as on their way.
 */
function roomAt(
  status: DeliveryStatus | undefined,
  { cursor, coveredTo, supposedTo, confirmedTo }: Book,
  window: number,
): number {
  if (status === undefined) return window - (cursor - coveredTo)
  const free = status.room - (cursor - Math.max(status.end, coveredTo))
  // Some covered nonces are only assumed to be in use by another sender. If they turn out to be missing, all
  // bytes above them are gapped, and the endpoint pools only `gapBudget` of those. A count proves nothing
  // here, because the assumption may come from that same count.
  return supposedTo > confirmedTo ? Math.min(free, confirmedTo + status.gapBudget - cursor) : free
}

/**
 * geth refuses a delegation of an account of which it holds more than one transaction ("authority already
 * reserved", core/txpool/legacypool validateAuth, 1.17). At the lane's head no block may ever resolve that:
 * transactions of the lane's own account are in the pool above the refused nonce, from this lane or from
 * another wallet, and those of another account may be stuck.
 */
function isBarred(
  book: Pick<Book, 'floor'>,
  transactions: ReadonlyMap<string, Transaction>,
  { nonce, attempt, outcome }: Said,
): boolean {
  if (outcome.reason !== 'delegatedLimit' || nonce !== book.floor || attempt.claim === undefined) return false
  const request = transactions.get(attempt.claim)?.request
  return request !== undefined && tuplesOf(request).length > 0
}

/** The sender of each endpoint, created on first use. */
export type EndpointSenders = {
  of(endpoint: PoolEndpoint): EndpointSender
  /** Undefined if nothing was offered to the endpoint yet. */
  find(endpoint: PoolEndpoint): EndpointSender | undefined
  all(): Iterable<EndpointSender>
  some(is: (sender: EndpointSender) => boolean): boolean
  /** Returns false if the limit was the same before. */
  limitAccount(max: number | undefined): boolean
}

function createEndpointSenders(context: EndpointSenderContext, parts: EndpointSenderParts): EndpointSenders {
  const senders = new Map<PoolEndpoint, EndpointSender>()
  let accountMax: number | undefined

  return {
    of(endpoint) {
      let sender = senders.get(endpoint)
      if (sender === undefined) {
        sender = createEndpointSender(context, endpoint, parts)
        sender.limitAccount(accountMax)
        senders.set(endpoint, sender)
      }
      return sender
    },
    find: (endpoint) => senders.get(endpoint),
    all: () => senders.values(),
    some(is) {
      for (const sender of senders.values()) if (is(sender)) return true
      return false
    },
    limitAccount(max) {
      if (max === accountMax) return false
      accountMax = max
      for (const sender of senders.values()) sender.limitAccount(max)
      return true
    },
  }
}
