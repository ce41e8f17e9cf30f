import type { Tracker } from '../../chain/blocks/blockPoller.js'
import type { Book } from '../../ledger/book.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import type { Live, Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Limits, Logger } from '../../types/index.js'

type StuckCheckParts = {
  readonly book: Pick<Book, 'slots'>
  readonly times: Pick<SendTimes, 'now' | 'of' | 'start'>
  readonly limits: Pick<Limits, 'stuckAfterMs' | 'stuckAfterBlocks'>
}

/** Decides whether a nonce has made no progress for too long. */
type StuckCheck = {
  /** The lowest nonce that is not covered. All higher nonces wait for it. */
  noteLowest(nonce: number | undefined): void
  isLowest(nonce: number): boolean
  /**
   * Both conditions must hold: blocks without the transaction, and elapsed time, since blocks may arrive in a
   * burst. One block is enough to re-send the same bytes, which costs nothing; a bump takes more patience.
   */
  isStuck(slot: Slot): boolean
}

/**
 * Patience for a nonce that only a count assigns to another sender. It is longer because a no-op takes the
 * nonce: the unknown transaction may be priced below the market, and a count that is too high may last for
 * some seconds.
 */
export const SUPPOSED_STUCK_MS = 15_000

export function createStuckCheck({ book, times, limits }: StuckCheckParts): StuckCheck {
  // The lowest nonce, and the time since which it is the lowest.
  let lowest: { readonly nonce: number; readonly since: SendTime } | undefined

  return {
    noteLowest(nonce) {
      if (lowest?.nonce !== nonce) lowest = nonce === undefined ? undefined : { nonce, since: times.now() }
    },
    isLowest: (nonce) => nonce === lowest?.nonce,
    isStuck(slot) {
      const { nonce } = slot
      const sent = times.of(nonce)
      if (sent === undefined) {
        // The nonce was restored, seeded or never sent, so its time begins now.
        times.start(nonce)
        return false
      }
      const since = lowest?.nonce === nonce && lowest.since.atMs > sent.atMs ? lowest.since : sent
      const { block, atMs } = times.now()
      const isPatient = isSupposed(book, nonce) || (slot.state === 'live' && slot.resentSinceSigned)
      const afterMs = isSupposed(book, nonce) ? SUPPOSED_STUCK_MS : limits.stuckAfterMs
      const blocks = isPatient ? limits.stuckAfterBlocks : 1
      return (
        blocksBetween(since.block, block) >= blocks &&
        atMs - since.atMs >= Math.max(afterMs, limits.stuckAfterMs)
      )
    },
  }
}

/** Only a count says that another sender has used the nonce. */
export function isSupposed(book: Pick<Book, 'slots'>, nonce: number): boolean {
  return !book.slots.has(nonce)
}

type PooledHeadParts = {
  readonly book: Pick<Book, 'floor' | 'coveredTo' | 'get'>
  readonly times: Pick<SendTimes, 'now' | 'of'>
  readonly limits: Pick<Limits, 'stuckAfterBlocks' | 'stuckAfterMs'>
  /** The offer covers the base fee. */
  readonly priced: (slot: Live) => boolean
}

/**
 * If a pool has the head, it may have a reason to wait, such as a queue of transactions that pay more. The
 * head then gets this multiple of the blocks that a head in no pool gets.
 */
const POOLED_PATIENCE = 4

/** Finds a head that a pool counts and whose price is too low. */
export function createPooledHead({ book, times, limits, priced }: PooledHeadParts): () => readonly Slot[] {
  // The transaction that the next block could include and that a pool has: its last send, and the time since
  // which it is the next one.
  let pooled: { nonce: number; sent: SendTime | undefined; from: SendTime } | undefined

  /**
   * The next transaction that a block could include, if a pool counts it and its price is too low: it is
   * below the base fee, or blocks preferred others. All higher nonces wait for it. For another sender's
   * transaction only the blocks show that.
   */
  return () => {
    const slot = book.floor < book.coveredTo ? book.get(book.floor) : undefined
    const isOpen = slot?.state === 'outside' || (slot?.state === 'live' && slot.preconfirmed === undefined)
    if (!isOpen) {
      pooled = undefined
      return []
    }
    const { nonce } = slot
    const sent = times.of(nonce)
    const { block, atMs } = times.now()
    // A head that is lower than before shows nothing about the contents of blocks.
    if (pooled?.nonce !== nonce || pooled.sent !== sent || block < pooled.from.block)
      pooled = { nonce, sent, from: times.now() }
    const hasWaited =
      block - pooled.from.block >= POOLED_PATIENCE * limits.stuckAfterBlocks &&
      atMs - pooled.from.atMs >= POOLED_PATIENCE * limits.stuckAfterMs
    return hasWaited || (slot.state === 'live' && !priced(slot)) ? [slot] : []
  }
}

type QuietWatchParts = {
  readonly clock: Pick<Clock, 'now'>
  readonly tracker: Pick<Tracker, 'head' | 'blockMs'>
  readonly logger: Logger
}

/**
 * Detects that no block was sealed for a while. Some nodes make a block only for a transaction, so no
 * block shows a lack of progress. After a pause without a sealed block, transactions are checked by time. The
 * pauses double, because a halted chain must not drive fees up.
 */
type QuietWatch = {
  /** No block was sealed during the pause, and transactions were in flight all the time. */
  isQuiet(open: readonly Slot[]): boolean
  /** A transaction was repaired by time, so the next pause is twice as long. */
  pauseLonger(open: readonly Slot[]): void
}

/** The shortest pause without a sealed block. */
export const QUIET_MS_MIN = 10_000
const QUIET_BLOCKS = 3
const QUIET_BLOCK_MS_MAX = 20_000
const QUIET_MS_MAX = 300_000

export function createQuietWatch({ clock, tracker, logger }: QuietWatchParts): QuietWatch {
  let quiet: { block: number | undefined; sinceMs: number; pauseMs: number } = {
    block: undefined,
    sinceMs: 0,
    pauseMs: 0,
  }

  return {
    isQuiet(open) {
      const { head, blockMs = 0 } = tracker
      const atMs = clock.now()
      if (open.length === 0 || head?.number !== quiet.block) {
        const pauseMs = Math.max(QUIET_MS_MIN, QUIET_BLOCKS * Math.min(blockMs, QUIET_BLOCK_MS_MAX))
        quiet = { block: head?.number, sinceMs: atMs, pauseMs }
        return false
      }
      return atMs - quiet.sinceMs >= quiet.pauseMs
    },
    pauseLonger(open) {
      quiet = { ...quiet, sinceMs: clock.now(), pauseMs: Math.min(QUIET_MS_MAX, quiet.pauseMs * 2) }
      logger.warn?.(
        { block: quiet.block, open: open.length, lowest: open[0]?.nonce },
        'no block was sealed for a while, with transactions in flight: they are sent again',
      )
    },
  }
}

type SendTimesParts = {
  readonly clock: Pick<Clock, 'now'>
  readonly tracker: Pick<Tracker, 'head'>
}

type SendTime = { readonly block: number; readonly atMs: number }

/** When the bytes of each nonce were sent last, or its waiting time began, as a block number and a time. */
type SendTimes = {
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
function blocksBetween(before: number, after: number): number {
  return after < before ? Number.POSITIVE_INFINITY : after - before
}
