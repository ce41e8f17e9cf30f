import { readLane } from '../rpc/reads/readLane.js'
import type { Limits } from '../types.js'
import type { OpenLane } from './open.js'
import { unlessStopped } from './unlessStopped.js'

/** Reads the account's counts and code again, and has the poller look at once. */
export async function resyncLane(lane: OpenLane, limits: Limits): Promise<void> {
  const { hub, key, engine } = lane
  lane.reading = await readLane(hub.reader.port, { address: key.address, timeoutMs: limits.readTimeoutMs })
  engine.accountIs(lane.reading.account)
  await unlessStopped(hub.tracker.nextTick(), [engine.context.closing])
}
