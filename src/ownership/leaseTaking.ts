import type { Clock } from '../platform/clock.js'
import type { LaneKey, Lease, Store } from '../types/store.js'
import type { Heartbeat } from './heartbeat.js'

/** The pause after a failed recovery of the lane, doubled each time. */
const RETRY_MS = 500

/** This process does not take the lane for work before this time, in clock milliseconds. */
export type TakingPause = { untilMs: number }

/** How this process takes the lease of a lane. */
export type LeaseTaking = {
  /** Resolves to true if this process owns the lane by then. Rejects if the lane could not be recovered. */
  take(): Promise<boolean>
  /** The same, unless a failure or a pause forbids it for now. */
  takeIfDue(): Promise<void>
  /** Resolves when an attempt that is under way has ended. */
  settled(): Promise<void>
}

export function createLeaseTaking(parts: {
  readonly store: Pick<Store, 'acquire' | 'release'>
  readonly key: LaneKey
  readonly heartbeat: Pick<Heartbeat, 'holder' | 'ttlMs'>
  readonly clock: Clock
  readonly pause: TakingPause
  /** True once this process owns the lane; undefined once it leaves, and must not take it any more. */
  readonly isOwner: () => boolean | undefined
  /** Recovers the lane under the lease. */
  readonly recover: (lease: Lease) => Promise<void>
}): LeaseTaking {
  const { store, key, heartbeat, clock, pause } = parts
  let taking: Promise<boolean> | undefined
  let failures = 0

  async function tryTake(): Promise<boolean> {
    const isOwner = parts.isOwner()
    if (isOwner !== false) return isOwner === true
    const lease = await store.acquire(key, heartbeat.holder, heartbeat.ttlMs)
    if (lease === undefined) return false
    try {
      await parts.recover(lease)
      failures = 0
    } catch (error) {
      pause.untilMs = clock.now() + Math.min(heartbeat.ttlMs, RETRY_MS * 2 ** failures++)
      await store.release(lease).catch(() => {})
      throw error
    }
    return true
  }

  function take(): Promise<boolean> {
    taking ??= tryTake().finally(() => {
      taking = undefined
    })
    return taking
  }

  return {
    take,
    async takeIfDue() {
      if (clock.now() >= pause.untilMs) await take()
    },
    async settled() {
      await taking?.catch(() => {})
    },
  }
}
