import { type Clock, isWithin } from '../../clock.js'
import type { Hub } from './hub.js'

const STALE_MS = 5_000
const STALE_BLOCKS = 3

/** What is known of the chain is not older than a few blocks: the process has not slept, and the node answers. */
export function isUpToDate({ tracker }: Pick<Hub, 'tracker'>, clock: Clock): boolean {
  const { tickedAt, blockMs } = tracker
  const staleMs = Math.max(STALE_MS, STALE_BLOCKS * (blockMs ?? 0))
  return tickedAt !== undefined && isWithin(clock, tickedAt, staleMs)
}
