import type { Clock } from '../../platform/clock.js'
import type { EndpointPool } from './endpointPool.js'

/** When the same answer was last counted. */
export type Moment = { readonly block: number; readonly atMs: number }

/** Two answers are two only with so much time between them, however fast blocks come. */
const APART_MS = 1_000
/** The same where no block came between them: a chain that makes blocks only for transactions makes none for these. */
const APART_WITHOUT_BLOCK_MS = 2_000
/** At most so long is waited for a block on a slow chain. */
const APART_WITHOUT_BLOCK_MS_MAX = 15_000
/** Of the time between blocks: one that is due is waited for. */
const BLOCK_TIMES = 1.5

/**
 * Tells answers apart that say the same: each counts at another block than the last one, or, where no block comes, later
 * by a time.
 */
export function createApart({
  clock,
  endpointPool,
}: {
  readonly clock: Clock
  readonly endpointPool: EndpointPool
}) {
  const now = (): Moment => ({ block: endpointPool.tracker.head?.number ?? 0, atMs: clock.now() })

  function withoutBlockMs(): number {
    const { blockMs = 0 } = endpointPool.tracker
    const wantedMs = Math.max(APART_WITHOUT_BLOCK_MS, BLOCK_TIMES * blockMs)
    return Math.min(wantedMs, APART_WITHOUT_BLOCK_MS_MAX)
  }

  return {
    now,
    /** Whether an answer that is given now is another one than that of `last`. */
    isNew(last: Moment | undefined): boolean {
      if (last === undefined) return true
      const { block, atMs } = now()
      return atMs - last.atMs >= (block === last.block ? withoutBlockMs() : APART_MS)
    },
    /** Milliseconds until the next one counts, whether or not a block comes. */
    waitMs: (last: Moment): number => Math.max(1, withoutBlockMs() - (clock.now() - last.atMs)),
  }
}
