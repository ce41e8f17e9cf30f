import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { Engine } from '../lane/engine/engineTypes.js'
import type { CancelTimer, Clock } from '../platform/clock.js'
import type { Repeats } from '../platform/repeats.js'
import { reportError } from '../platform/reportError.js'

/** Without work for so long, the leader gives the lane to another process that has some. */
const IDLE_MS = 30_000
/** On slow chains the endpoint counts as silent after so many block times. */
const SILENT_BLOCKS = 3

export type LeaseWatchParts = {
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly clock: Clock
  /** Its timers keep no process alive. */
  readonly background: Clock
  /** The length of a lease. */
  readonly ttlMs: number
  readonly errors: Repeats<Error>
  /** This process still owns the lane. */
  readonly isOwner: () => boolean
  /** Gives the lane back. If a time is given, in clock milliseconds, this process does not take it again before then. */
  readonly giveBack: (notBeforeMs?: number) => Promise<void>
  /** The endpoint answers again. */
  readonly endpointIsBack: () => void
}

/**
 * Decides when the owner of a lane gives it back: it has been idle while another process may have work, or its endpoint has
 * been silent for the time of a lease while other processes may reach theirs.
 */
export function watchLease(engine: Engine, parts: LeaseWatchParts): () => void {
  const { endpointPool, clock, background, ttlMs } = parts
  let cancel: CancelTimer | undefined
  let awakeSinceMs = clock.now()
  let idleSinceMs: number | undefined
  let dueMs = 0

  async function look(): Promise<void> {
    if (!parts.isOwner()) return
    const now = clock.now()
    // This process was suspended. The silence says nothing about the endpoint.
    if (now - dueMs > ttlMs / 2) awakeSinceMs = now
    idleSinceMs = engine.idle ? (idleSinceMs ?? now) : undefined
    if (isSilent(now)) {
      void endpointPool.tracker.nextTick().then(parts.endpointIsBack)
      return parts.giveBack(now + ttlMs)
    }
    if (idleSinceMs !== undefined && now - idleSinceMs >= IDLE_MS) {
      await engine.context.lane.journal.flushed()
      if (parts.isOwner() && engine.idle) return parts.giveBack()
    }
    plan()
  }

  /** The engine follows the chain, and no endpoint has answered for the time of a lease. */
  function isSilent(now: number): boolean {
    const { tickedAt, blockMs = 0 } = endpointPool.tracker
    const heardMs = Math.max(tickedAt?.atMs ?? 0, awakeSinceMs)
    return engine.following && now - heardMs > Math.max(ttlMs, SILENT_BLOCKS * blockMs)
  }

  function plan(): void {
    dueMs = clock.now() + ttlMs / 2
    cancel = background.setTimer(() => void look().catch((error) => reportError(parts, error)), ttlMs / 2)
  }

  plan()
  return () => cancel?.()
}
