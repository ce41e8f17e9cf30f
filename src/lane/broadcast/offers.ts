import type { PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { Book } from '../../ledger/book.js'
import { type Attempt, newestAttempt, type Slot } from '../../ledger/slot.js'
import type { Broadcaster } from './broadcast.js'
import type { EndpointSenders } from './endpointSenders.js'
import type { Recipients } from './recipients.js'

type OffersParts = {
  readonly book: Pick<Book, 'coveredTo' | 'get' | 'slots'>
  readonly recipients: Recipients
  readonly senders: EndpointSenders
  readonly broadcast: 'first' | 'all'
}

/** Offers nonces to the endpoints that should send them. */
export type Offers = Pick<
  Broadcaster,
  'add' | 'again' | 'elsewhere' | 'resume' | 'claimed' | 'withdraw' | 'delivers' | 'holdsBack'
> & {
  /** The endpoint failed, and no longer offers this nonce: another one receives it, or the same one again. */
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
