import type { CancelTimer } from '../../clock.js'
import type { Book } from '../../ledger/book.js'
import { newestAttempt } from '../../ledger/slot.js'
import type { LaneContext } from '../context.js'

/**
 * When bytes that brought no acceptance are sent again: once soon, for the lost request, then at most once per
 * sealed block. Touches uncovered nonces only, the lowest ones, in order.
 */
export type Resender = {
  /** The newest attempt of this nonce is to be sent again, not before `delayMs` where one is given. */
  later(nonce: number, delayMs?: number): void
  /** It was accepted, or is not ours to send any more. */
  forget(nonce: number): void
  /** A sealed block joined: everything that waits is due. */
  newHead(): void
  stop(): void
}

type Due = { atMs: number; tries: number }

const SOON_MS = 100
const TRIES_BY_TIME = 3

export function createResender(context: LaneContext, send: (nonce: number) => void): Resender {
  const { lane, clock, random, limits } = context
  const due = new Map<number, Due>()
  let cancel: CancelTimer | undefined
  let wakeAtMs = Number.POSITIVE_INFINITY

  function plan(atMs: number): void {
    if (atMs >= wakeAtMs) return
    cancel?.()
    wakeAtMs = atMs
    cancel = clock.setTimer(fire, Math.max(1, atMs - clock.now()))
  }

  function fire(): void {
    cancel = undefined
    wakeAtMs = Number.POSITIVE_INFINITY
    const now = clock.now()
    let sent = 0
    const ready = [...due].filter(([, entry]) => entry.atMs <= now).sort(([a], [b]) => a - b)
    for (const [nonce, entry] of ready) {
      if (!isOpen(nonce)) {
        due.delete(nonce)
        continue
      }
      if (sent >= limits.resendMax) {
        entry.atMs = now + SOON_MS
        continue
      }
      sent++
      // Until an answer asks for more it is not due again.
      entry.atMs = Number.POSITIVE_INFINITY
      send(nonce)
    }
    const next = Math.min(...[...due.values()].map((entry) => entry.atMs), Number.POSITIVE_INFINITY)
    if (next !== Number.POSITIVE_INFINITY) plan(next)
  }

  function isOpen(nonce: number): boolean {
    const slot = lane.book.get(nonce)
    return slot?.state === 'live' && slot.preconfirmed === undefined && newestAttempt(slot) !== undefined
  }

  return {
    later(nonce, delayMs) {
      const tries = (due.get(nonce)?.tries ?? 0) + 1
      // After a few tries only a sealed block makes it due again: some nodes ban who repeats itself.
      const byTime = tries <= TRIES_BY_TIME
      const usual = SOON_MS * 4 ** (tries - 1) * (1 + random() / 2)
      const atMs =
        byTime || delayMs !== undefined
          ? clock.now() + Math.max(delayMs ?? 0, usual)
          : Number.POSITIVE_INFINITY
      due.set(nonce, { atMs, tries })
      if (atMs !== Number.POSITIVE_INFINITY) plan(atMs)
    },
    forget: (nonce) => void due.delete(nonce),
    newHead() {
      if (due.size === 0) return
      const now = clock.now()
      for (const entry of due.values())
        if (entry.tries > TRIES_BY_TIME) entry.atMs = Math.min(entry.atMs, now)
      fire()
    },
    stop() {
      cancel?.()
      due.clear()
    },
  }
}

/** Nonces with bytes that may have been sent and that nothing covers, in order. */
export function uncoveredAttempts({
  slots,
  coveredTo,
}: Pick<Book, 'slots' | 'coveredTo'>): readonly number[] {
  const open = [...slots.values()].filter(({ state, nonce }) => state === 'live' && nonce >= coveredTo)
  return open
    .filter(({ attempts }) => attempts.length > 0)
    .map(({ nonce }) => nonce)
    .sort((a, b) => a - b)
}
