import type { CancelTimer } from '../../clock.js'
import type { Book } from '../../ledger/book.js'
import { newestAttempt } from '../../ledger/slot.js'
import type { LaneContext } from '../context.js'

/**
 * When bytes that brought no acceptance are sent again: once soon, for the lost request, then at most once per
 * sealed block and a second, or by time where no block comes: some nodes make one only for a transaction (Hardhat, anvil and
 * `geth --dev` by default, Arbitrum, Avalanche). Touches uncovered nonces only, the lowest ones, in order.
 */
export type Resender = {
  /** The newest attempt of this nonce is to be sent again, not before `delayMs` where one is given. */
  later(nonce: number, delayMs?: number): void
  /** The same, for bytes that stand still while no answer asks for them: soon, unless they are due at some time anyway. */
  soon(nonce: number): void
  /** The same, at its own pace: after so long, whatever was tried before. */
  after(nonce: number, delayMs: number): void
  /** It was accepted. What the endpoint refused for whatever reason may have a chance now: it is due too, once. */
  taken(nonce: number): void
  /** A sealed block joined: what has waited for long enough is due. */
  newHead(): void
  stop(): void
}

type Due = {
  atMs: number
  tries: number
  hurried: boolean
  /** When it was last handed over, or answered. */
  lastMs: number
}

const SOON_MS = 100
const SHARED_MS = 50
const TRIES_SOON = 3
/** Pauses after that, doubled with each: longer than a block takes, as far as that is known. */
const PAUSE_MS_MIN = 4_000
const PAUSE_MS_MAX = 60_000
const PAUSE_BLOCKS = 2
const BLOCK_MS_MAX = 15_000
/** Blocks may come several a second: with one of them it is due after this part of its pause at the earliest. */
const NEW_BLOCK_PART = 8
/** And after this part of the time in which what nobody takes would count as stuck: no fee is raised for that. */
const STUCK_PART = 2

export function createResender(context: LaneContext, send: (nonce: number) => void): Resender {
  const { lane, hub, clock, random, limits } = context
  const due = new Map<number, Due>()
  let cancel: CancelTimer | undefined
  let wakeAtMs = Number.POSITIVE_INFINITY

  function plan(dueMs: number): void {
    // What is due in the same moment shares a request.
    const atMs = Math.ceil(dueMs / SHARED_MS) * SHARED_MS
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
      entry.lastMs = now
      send(nonce)
    }
    const next = Math.min(...[...due.values()].map((entry) => entry.atMs), Number.POSITIVE_INFINITY)
    if (next !== Number.POSITIVE_INFINITY) plan(next)
  }

  /** After a few tries a sealed block makes it due again, and time only where none comes: some nodes ban who repeats itself. */
  function pauseMs(tries: number): number {
    const blockMs = Math.min(hub.tracker.blockMs ?? 0, BLOCK_MS_MAX)
    const first = Math.max(PAUSE_MS_MIN, PAUSE_BLOCKS * blockMs)
    return Math.min(PAUSE_MS_MAX, first * 2 ** (tries - TRIES_SOON - 1))
  }

  function isOpen(nonce: number): boolean {
    const slot = lane.book.get(nonce)
    return slot?.state === 'live' && slot.preconfirmed === undefined && newestAttempt(slot) !== undefined
  }

  return {
    later(nonce, delayMs) {
      const { tries: before = 0, hurried = false } = due.get(nonce) ?? {}
      const tries = before + 1
      const usual = (tries <= TRIES_SOON ? SOON_MS * 4 ** (tries - 1) : pauseMs(tries)) * (1 + random() / 2)
      const lastMs = clock.now()
      const atMs = lastMs + Math.max(delayMs ?? 0, usual)
      due.set(nonce, { atMs, tries, hurried, lastMs })
      plan(atMs)
    },
    soon(nonce) {
      const { atMs: plannedMs, tries = 1, hurried = false } = due.get(nonce) ?? {}
      const isPlanned = plannedMs !== undefined && plannedMs !== Number.POSITIVE_INFINITY
      if (isPlanned || tries > TRIES_SOON) return
      const lastMs = clock.now()
      const atMs = lastMs + SOON_MS * (1 + random() / 2)
      due.set(nonce, { atMs, tries, hurried, lastMs })
      plan(atMs)
    },
    after(nonce, delayMs) {
      const lastMs = clock.now()
      const atMs = lastMs + delayMs
      due.set(nonce, { atMs, tries: TRIES_SOON, hurried: true, lastMs })
      plan(atMs)
    },
    taken(nonce) {
      due.delete(nonce)
      // Once for each: an endpoint that takes some and refuses others for good would be asked at every acceptance.
      const waiting = [...due.values()].filter(({ tries, hurried }) => tries > TRIES_SOON && !hurried)
      const soonMs = clock.now() + SOON_MS
      for (const entry of waiting) {
        entry.hurried = true
        entry.atMs = Math.min(entry.atMs, soonMs)
      }
      if (waiting.length > 0) plan(soonMs)
    },
    newHead() {
      if (due.size === 0) return
      const now = clock.now()
      for (const entry of due.values()) {
        if (entry.tries <= TRIES_SOON) continue
        const apartMs = Math.min(limits.stuckAfterMs / STUCK_PART, pauseMs(entry.tries) / NEW_BLOCK_PART)
        if (now - entry.lastMs >= apartMs) entry.atMs = Math.min(entry.atMs, now)
      }
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
