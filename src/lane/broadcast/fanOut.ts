import type { Hash } from 'viem'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import { canReceive } from '../../chain/endpoints/privateEndpoints.js'
import type { Book } from '../../ledger/book.js'
import { type Attempt, newestAttempt, type Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { Broadcaster, EndpointSenders } from './broadcast.js'
import type { EndpointSenderParts, Said } from './endpointSender.js'

/** Bytes that any endpoint may receive. */
export const PUBLIC = {}

/** Selects the endpoints that receive bytes. */
export type Recipients = {
  /** Several endpoints accept sends. */
  readonly several: boolean
  /**
   * The endpoints in the order in which they receive the bytes: all of them, or only the one for new nonces.
   * A rate-limited endpoint is skipped if another one is available.
   */
  of(bytes: Pick<Attempt, 'private'>, all: boolean): readonly PoolEndpoint[]
  /** The endpoint did not answer, so the next one receives new nonces. */
  skip(endpoint: PoolEndpoint): void
}

const NONE: readonly PoolEndpoint[] = []

export function createRecipients(
  endpointPool: Pick<EndpointPool, 'endpoints' | 'reader' | 'senders'>,
): Recipients {
  const takingSends = endpointPool.endpoints.filter(({ role }) => role !== 'read')
  const several = takingSends.length > 1
  // Selects the endpoint that receives new nonces. It advances when that endpoint does not answer.
  let turn = 0

  /** Does not allocate a list, because a burst calls this several times for each transaction. */
  function onlyOne(bytes: Pick<Attempt, 'private'>): readonly PoolEndpoint[] {
    const [endpoint] = takingSends
    return endpoint?.probed && canReceive(endpoint, bytes) ? takingSends : NONE
  }

  return {
    several,
    of(bytes, all) {
      if (!several) return onlyOne(bytes)
      const order = endpointPool.senders()
      const able = order.filter((endpoint) => canReceive(endpoint, bytes))
      if (able.length < 2) return able.length === 0 ? NONE : able
      const free = able.filter(({ gate }) => !gate.isBlocked)
      const usable = free.length > 0 ? free : able
      // The endpoint that the lane reads from goes first. Its profile learns whether its count includes its
      // pool only from transactions that no other endpoint had before.
      if (all)
        return usable.sort((a, b) => Number(b === endpointPool.reader) - Number(a === endpointPool.reader))
      return [usable.find((one) => order.indexOf(one) >= turn % order.length) ?? (usable[0] as PoolEndpoint)]
    },
    skip(endpoint) {
      const order = endpointPool.senders()
      if (order[turn % order.length] === endpoint) turn++
    },
  }
}

type OffersParts = {
  readonly book: Pick<Book, 'coveredTo' | 'get' | 'slots'>
  readonly recipients: Recipients
  readonly senders: EndpointSenders
  readonly broadcast: 'first' | 'all'
}

/** Offers nonces to the endpoints that should send them. */
type Offers = Pick<
  Broadcaster,
  'add' | 'again' | 'elsewhere' | 'resume' | 'claimed' | 'withdraw' | 'delivers' | 'holdsBack'
> & {
  /** Offers the nonce to another endpoint, because `from` failed; to `from` again if there is no other. */
  move(nonce: number, from: PoolEndpoint): void
  /** Offers the nonces again that no endpoint could receive. */
  retry(): void
}

export function createOffers({ book, recipients, senders, broadcast }: OffersParts): Offers {
  // Attempts of an earlier process below this nonce are not re-sent: a count covered them, and no later count
  // was lower.
  let sparedTo = Number.POSITIVE_INFINITY
  // Nonces that no endpoint can receive at the moment.
  const waiting = new Set<number>()

  function add(nonce: number): void {
    const slot = liveAt(nonce)
    const attempt = slot && newestAttempt(slot)
    if (attempt === undefined) return
    offer(nonce, recipients.of(attempt, isKnown(slot, attempt) || broadcast === 'all'))
  }

  function liveAt(nonce: number): Slot | undefined {
    const slot = book.get(nonce)
    return slot?.state === 'live' ? slot : undefined
  }

  function attemptAt(nonce: number): Attempt | undefined {
    const slot = liveAt(nonce)
    return slot && newestAttempt(slot)
  }

  function offer(nonce: number, endpoints: readonly PoolEndpoint[]): void {
    if (endpoints.length === 0) waiting.add(nonce)
    for (const endpoint of endpoints) senders.of(endpoint).offer(nonce)
  }

  function offerIfMissing(nonce: number, endpoint: PoolEndpoint): void {
    const sender = senders.of(endpoint)
    if (!sender.has(nonce)) sender.offer(nonce)
  }

  function resumeFrom(from: number): void {
    const open = [...book.slots.values()].filter(
      ({ state, nonce }) => state === 'live' && nonce >= from && nonce < sparedTo && !isOffered(nonce),
    )
    sparedTo = from
    for (const { nonce } of open.sort((a, b) => a.nonce - b.nonce)) add(nonce)
  }

  const isOffered = (nonce: number) => waiting.has(nonce) || senders.some((sender) => sender.has(nonce))

  const delivers = (nonce: number) =>
    waiting.has(nonce) || senders.some((sender) => sender.has(nonce) && !sender.isRefused(nonce))

  return {
    add,
    again(nonce) {
      const attempt = attemptAt(nonce)
      if (attempt === undefined) return
      const endpoints = recipients.of(attempt, true)
      if (endpoints.length > 1) for (const endpoint of endpoints) senders.of(endpoint).sentElsewhere(nonce)
      offer(nonce, endpoints)
    },
    elsewhere(nonce) {
      const attempt = recipients.several ? attemptAt(nonce) : undefined
      if (attempt === undefined) return
      for (const endpoint of recipients.of(attempt, true)) offerIfMissing(nonce, endpoint)
    },
    move(nonce, from) {
      const slot = liveAt(nonce)
      const attempt = slot && newestAttempt(slot)
      if (attempt === undefined) return
      const others = recipients.of(attempt, isKnown(slot, attempt)).filter((one) => one !== from)
      if (others.length === 0) return offer(nonce, [from])
      for (const endpoint of others) offerIfMissing(nonce, endpoint)
    },
    resume: () => resumeFrom(book.coveredTo),
    claimed(count) {
      if (count < sparedTo) resumeFrom(count)
    },
    withdraw(nonce) {
      waiting.delete(nonce)
      for (const sender of senders.all()) sender.withdraw(nonce)
    },
    delivers,
    holdsBack: (nonce) => attemptAt(nonce)?.sends === 0 && delivers(nonce),
    retry() {
      const all = [...waiting]
      waiting.clear()
      for (const nonce of all) add(nonce)
    },
  }
}

/**
 * An attempt that was sent before and is in no block may have been lost, or only some endpoints may know it.
 */
function isKnown(slot: Slot | undefined, attempt: Attempt): boolean {
  return attempt.sends > 0 || (slot !== undefined && slot.attempts.length > 1)
}

type FanOutParts = {
  readonly clock: Pick<Clock, 'now'>
  readonly recipients: Recipients
  /** No later block can make this refusal go away, although its reason is a temporary one. */
  readonly isBarred: (reply: Said) => boolean
  /** Receives each reply that counts. */
  readonly report: (reply: Said) => void
}

/** Combines the replies of several endpoints to the same bytes into one result. */
type FanOut = Pick<EndpointSenderParts, 'posting' | 'said'>

/** Replies to bytes that are on their way to several endpoints at once. */
type Replies = { open: number; accepted: boolean; held: Map<PoolEndpoint, Said> }

export function createFanOut({ clock, recipients, isBarred, report }: FanOutParts): FanOut {
  const { several } = recipients
  const open = new Map<Hash, Replies>()

  /**
   * The first acceptance wins: other endpoints' answers about the same bytes are no reason to bump, to back
   * off or to give up. Until an endpoint accepts, and while one still may, no conclusion is drawn from a
   * refusal.
   */
  function combine(replies: Replies, reply: Said): void {
    if (replies.accepted) return
    if (reply.outcome.outcome === 'accepted') {
      replies.accepted = true
      return report(reply)
    }
    replies.held.set(reply.endpoint, reply)
    if (replies.open > 0) return
    const all = [...replies.held.values()]
    const fromAll = isFromAll(reply.attempt, all)
    // The same refusal counts once, however many nodes repeat it.
    const kinds = new Map<string, Said>()
    for (const each of all) {
      const { outcome, ...rest } = weighed(each, fromAll)
      kinds.set(`${outcome.outcome} ${outcome.reason} ${outcome.counted}`, { ...rest, outcome })
    }
    for (const each of kinds.values()) report(each)
  }

  /** Every endpoint that is available for these bytes now, and that answers, refused them permanently. */
  function isFromAll(attempt: Attempt, replies: readonly Said[]): boolean {
    const refusing = new Set(replies.filter(isForGood).map(({ endpoint }) => endpoint))
    const now = clock.now()
    const asked = recipients.of(attempt, true).filter(({ silentUntilMs }) => silentUntilMs <= now)
    return replies.every(isForGood) && asked.every((endpoint) => refusing.has(endpoint))
  }

  return {
    posting(batch, awaited) {
      if (!several || !awaited) return
      for (const { attempt } of batch) {
        const { hash } = attempt
        const replies = open.get(hash)
        if (replies) replies.open++
        else open.set(hash, { open: 1, accepted: false, held: new Map() })
      }
    },
    said(received) {
      const reply = isBarred(received) ? forGood(received) : received
      const { attempt } = reply
      const replies = open.get(attempt.hash)
      if (replies === undefined) return report(weighed(reply, !several || isFromAll(attempt, [reply])))
      if (reply.awaited && --replies.open === 0) open.delete(attempt.hash)
      combine(replies, reply)
    },
  }
}

/**
 * A refusal that no retry at this node resolves: the table of messages lists it, or the message is unknown.
 */
function isForGood({ outcome, reply, ofBatch }: Said): boolean {
  return !ofBatch && (outcome.counted || isExplicitRefusal(reply, outcome))
}

/**
 * A permanent refusal counts only if every endpoint refuses the bytes permanently: another endpoint may
 * accept bytes that one endpoint does not (row 18), and an unknown message alone proves nothing (row 13).
 */
function weighed(said: Said, fromAll: boolean): Said {
  if (!isForGood(said)) return said
  const { outcome } = said
  if (fromAll) return forGood(said)
  return outcome.counted ? { ...said, outcome: { ...outcome, counted: false } } : said
}

function forGood(said: Said): Said {
  return { ...said, outcome: { ...said.outcome, outcome: 'refused', counted: true } }
}
