import { createDelivery, type Delivery, type DeliveryAction } from './delivery.js'
import type { RequestEnd } from './settle.js'
import type { DeliveryOptions, EndpointTraits } from './state.js'

export const OPTIONS: DeliveryOptions = {
  floor: 0,
  windowMax: 4_096,
  batchMax: 1_000,
  requestCharactersMax: 512 * 1024,
  requestsMax: 4,
}

export const SIZE = 220
export const NEVER = Number.POSITIVE_INFINITY
export const GETH: Partial<EndpointTraits> = { countsMempool: true, gapBudget: 64 }
export const SEQUENCER: Partial<EndpointTraits> = { countsMempool: false, gapBudget: 0 }

export const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index)

/** A delivery that a test drives by hand: each call happens at the time that was set last. */
export function byHand(traits: Partial<EndpointTraits>, over: Partial<DeliveryOptions> = {}) {
  const delivery = createDelivery({ ...OPTIONS, ...over })
  delivery.know(traits)
  let nowMs = 0
  // The nonces for whose receipts a caller waits.
  const awaited = new Set<number>()
  const awaitsReceipt = (nonce: number) => awaited.has(nonce)
  const accepted: number[] = []
  const act = () => delivery.next({ nowMs, grant: () => NEVER, below: NEVER, awaitsReceipt })

  /** The next action other than the acceptance of a nonce. */
  function next(): Exclude<DeliveryAction, { do: 'accept' }> {
    for (let action = act(); ; action = act()) {
      if (action.do !== 'accept') return action
      accepted.push(action.nonce)
    }
  }

  return {
    delivery,
    awaited,
    /** The nonces for which a count stood in for a lost answer. */
    accepted,
    at(ms: number) {
      nowMs = ms
    },
    offer(from: number, to: number) {
      for (let nonce = from; nonce < to; nonce++) delivery.offer(nonce, SIZE)
    },
    next,
    /** The nonces of the next request, in order. */
    sends(): { request: number; nonces: readonly number[] } {
      const action = next()
      if (action.do !== 'send') throw new Error(`Expected a request, not ${JSON.stringify(action)}.`)
      return action
    },
    taken({ request, nonces }: { request: number; nonces: readonly number[] }, count?: number) {
      end(delivery, request, { end: 'answers', answers: nonces.map(() => ({ kind: 'taken' })), count }, nowMs)
    },
    end: (request: number, how: RequestEnd) => end(delivery, request, how, nowMs),
    count: (count: number, askedAtMs = nowMs) => delivery.counted({ count, askedAtMs, atMs: nowMs }),
    refresh: (confirmedTo: number, latest = 0, sealed = false, askedAtMs = nowMs) =>
      delivery.refreshed({ atMs: nowMs, askedAtMs, confirmedTo, latest, sealed }),
  }
}

export type ByHand = ReturnType<typeof byHand>

/** Reads two counts with the same value. Each was requested after all earlier events. */
export function standAt(lane: ByHand, count: number, fromMs: number): void {
  for (const ms of [fromMs, fromMs + 10]) {
    lane.at(ms)
    lane.count(count)
  }
}

function end(delivery: Delivery, request: number, how: RequestEnd, atMs: number): void {
  delivery.ended(request, how, atMs)
}
