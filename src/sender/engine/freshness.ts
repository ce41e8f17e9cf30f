import type { LaneContext } from '../context.js'
import { isUpToDate } from '../nodes/upToDate.js'

/**
 * A lane that slept does not know what happened meanwhile: it looks before it hands out a nonce. The function that is
 * returned gives nothing where the lane is up to date.
 */
export function createFreshness(
  { hub, clock }: Pick<LaneContext, 'hub' | 'clock'>,
  explained: () => Promise<void>,
): () => Promise<void> | undefined {
  return () => {
    if (isUpToDate(hub, clock)) return undefined
    hub.tracker.lookNow()
    return hub.tracker.nextTick().then(explained)
  }
}
