import type { Tracker } from '../../chain/blocks/blockPoller.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import type { Clock } from '../../platform/clock.js'

type SendTimesParts = {
  readonly clock: Pick<Clock, 'now'>
  readonly tracker: Pick<Tracker, 'head'>
}

export type SendTime = { readonly block: number; readonly atMs: number }

/** When the bytes of each nonce were sent last, or its waiting time began, as a block number and a time. */
export type SendTimes = {
  /** Returns one shared object for all sends of the same millisecond. */
  now(): SendTime
  of(nonce: number): SendTime | undefined
  /** The waiting time of the nonce begins now. */
  start(nonce: number): void
  /** The nonce was sent to an endpoint, or first seen, at least `ms` ago. */
  isOlder(nonce: number, ms: number): boolean
  /** A block was sealed since the nonce was sent, or first seen. */
  hasBlockPassed(nonce: number): boolean
  /** Forgets all nonces below this one. */
  forgetBelow(nonce: number): void
}

export function createSendTimes({ clock, tracker }: SendTimesParts): SendTimes {
  const times = new NonceMap<SendTime>()
  let latest: SendTime = { block: 0, atMs: 0 }

  function now(): SendTime {
    const { number: block = 0 } = tracker.head ?? {}
    const atMs = Math.floor(clock.now())
    if (latest.block !== block || latest.atMs !== atMs) latest = { block, atMs }
    return latest
  }

  return {
    now,
    of: (nonce) => times.get(nonce),
    start: (nonce) => void times.set(nonce, now()),
    isOlder(nonce, ms) {
      const since = times.get(nonce)
      return since !== undefined && clock.now() - since.atMs >= ms
    },
    hasBlockPassed(nonce) {
      const since = times.get(nonce)
      return since !== undefined && blocksBetween(since.block, now().block) >= 1
    },
    forgetBelow(end) {
      // The keys are in the order of the first send, which is the order of nonces, so used nonces come
      // first.
      for (const nonce of times.keys()) {
        if (nonce >= end) return
        times.delete(nonce)
      }
    },
  }
}

/**
 * Infinite if the head is below the earlier one: the chain was cut back, or was never as long, so only
 * time counts.
 */
export function blocksBetween(before: number, after: number): number {
  return after < before ? Number.POSITIVE_INFINITY : after - before
}
