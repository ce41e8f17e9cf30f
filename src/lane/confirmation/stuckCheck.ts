import type { Book } from '../../ledger/book.js'
import type { Slot } from '../../ledger/slot.js'
import type { Limits } from '../../types/index.js'
import { blocksBetween, type SendTime, type SendTimes } from './sendTimes.js'

type StuckCheckParts = {
  readonly book: Pick<Book, 'slots'>
  readonly times: Pick<SendTimes, 'now' | 'of' | 'start'>
  readonly limits: Pick<Limits, 'stuckAfterMs' | 'stuckAfterBlocks'>
}

/** Decides whether a nonce has made no progress for too long. */
export type StuckCheck = {
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
