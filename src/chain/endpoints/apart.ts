import type { Clock } from '../../platform/clock.js'
import type { EndpointPool } from './endpointPool.js'

/** The block and the time at which an answer was last counted. */
export type Moment = { readonly block: number; readonly atMs: number }

/** Two equal answers count as two only with this time between them, however fast blocks come. */
const APART_MS = 1_000
/** The same if no block came between them: some chains make blocks only for transactions. */
const APART_WITHOUT_BLOCK_MS = 2_000
/** The longest wait for a block on a slow chain. */
const APART_WITHOUT_BLOCK_MS_MAX = 15_000
/** The wait for the next block, in block times. */
const BLOCK_TIMES = 1.5

/** Decides whether an equal answer counts again: at a later block than the last one, or after a time if no block comes. */
export function createApart({
  clock,
  endpointPool,
}: {
  readonly clock: Clock
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
}) {
  const now = (): Moment => ({ block: endpointPool.tracker.head?.number ?? 0, atMs: clock.now() })

  function withoutBlockMs(): number {
    const { blockMs = 0 } = endpointPool.tracker
    const wantedMs = Math.max(APART_WITHOUT_BLOCK_MS, BLOCK_TIMES * blockMs)
    return Math.min(wantedMs, APART_WITHOUT_BLOCK_MS_MAX)
  }

  return {
    now,
    /** True if an answer that comes now counts besides that of `last`. */
    isNew(last: Moment | undefined): boolean {
      if (last === undefined) return true
      const { block, atMs } = now()
      return atMs - last.atMs >= (block === last.block ? withoutBlockMs() : APART_MS)
    },
    /** Milliseconds until the next answer counts, with or without a block. */
    waitMs: (last: Moment): number => Math.max(1, withoutBlockMs() - (clock.now() - last.atMs)),
  }
}
