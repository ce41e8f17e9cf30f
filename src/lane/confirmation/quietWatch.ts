import type { Tracker } from '../../chain/blocks/blockPoller.js'
import type { Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Logger } from '../../types/index.js'

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
export type QuietWatch = {
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
