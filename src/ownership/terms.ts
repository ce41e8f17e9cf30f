import type { LocalAccount } from 'viem'
import type { Holds } from '../allocator/holds.js'
import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import { TxlaneError } from '../errors/base.js'
import type { Engine } from '../lane/engine/engineTypes.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import type { CancelTimer, Clock } from '../platform/clock.js'
import type { Repeats } from '../platform/repeats.js'
import { reportError } from '../platform/reportError.js'
import { isReplaced } from '../store/replaced.js'
import type { LaneKey, Lease, Store } from '../types/store.js'
import type { Heartbeat } from './heartbeat.js'
import type { LaneOwnershipParts, OpenSession } from './laneOwnership.js'
import { recoverLane } from './recoverLane.js'
import { reportedOptions } from './sharedOptions.js'

/** The lease while this process has it, and the engine that works under it. */
export type Term = {
  readonly engine: Engine
  readonly lease: Lease
  /**
   * These functions end the work that goes with the lease, except the engine. The last one ends the renewal of the
   * lease.
   */
  readonly stops: (() => void)[]
}

/** Takes the lane under a lease, and leads it until the lease ends. */
export function createTerms(
  parts: LaneOwnershipParts,
  open: OpenSession,
  hooks: {
    readonly pause: TakingPause
    readonly signer: () => LocalAccount | undefined
    readonly isLeaving: () => boolean
    /** Aborted once this process takes the lane no more. */
    readonly leaving: AbortSignal
    readonly began: () => void
    readonly ended: () => void
  },
) {
  const { options, environment, endpointPool, store, log } = parts
  const { lane, session, admission, heartbeat, reports } = open
  const { clock, background = clock } = environment
  const { logger } = log
  const own = reportedOptions(options)
  const storeState = watchStore(session, () => term?.engine.context.lane.holds)
  let term: Term | undefined
  let last: Engine | undefined
  let lastEpoch = Number.NaN

  async function recover(lease: Lease): Promise<void> {
    let lostEarly = false
    const lost = () => {
      if (term?.lease === lease) leaseLost(term)
      else lostEarly = true
    }
    // The lease is renewed from now on: to read the records may take longer than a lease lasts.
    const stopRenewing = heartbeat.hold(lease, { lost, ...storeState })
    try {
      await recoverLane({
        options,
        environment,
        endpointPool,
        store,
        session,
        log,
        admission,
        lease,
        lost,
        seen: lease.epoch === lastEpoch + 1,
        leaving: hooks.leaving,
        signer: hooks.signer,
        leased: () => heartbeat.isFresh(lease),
        taken(engine) {
          if (!lostEarly && !hooks.leaving.aborted) return lead({ engine, lease, stops: [stopRenewing] })
          engine.stop()
          throw notOwnerError()
        },
      })
    } catch (error) {
      stopRenewing()
      throw error
    }
  }

  function lead(next: Term): void {
    const { engine, lease, stops } = next
    const { epoch } = lease
    const takeover = epoch > 1 && epoch !== lastEpoch + 1
    hooks.began()
    term = next
    last = engine
    lastEpoch = epoch
    logger.info({ ...lane, epoch, takeover }, 'lease gained')
    session.events.emit('leaseGained', { epoch, takeover })
    engine.start()
    stops.unshift(reports.publish(lease, () => ({ ...engine.report(), options: own })))
    // Only another process can use a lane that is given back, and it needs a store that outlives this process.
    if (store.durable) stops.unshift(watchLease(leasedWork(engine), leaseWatch(next)))
  }

  const leaseWatch = (current: Term): LeaseWatchParts => ({
    endpointPool,
    clock,
    background,
    ttlMs: heartbeat.ttlMs,
    errors: session.errors,
    isOwner: () => term === current && !hooks.isLeaving(),
    async giveBack(notBeforeMs) {
      if (notBeforeMs !== undefined) hooks.pause.untilMs = notBeforeMs
      end(current)
      logger.info({ ...lane, epoch: current.lease.epoch }, 'lease given back')
      await store.release(current.lease)
    },
    endpointIsBack() {
      hooks.pause.untilMs = 0
    },
  })

  function leaseLost(lost: Term): void {
    end(lost)
    const { epoch } = lost.lease
    logger.warn({ ...lane, epoch }, 'lease lost')
    session.events.emit('leaseLost', { epoch })
  }

  function end({ engine, stops }: Term): void {
    // The lease is renewed until the engine has stopped.
    for (const stop of stops.slice(0, -1)) stop()
    engine.stop()
    stops.at(-1)?.()
    term = undefined
    hooks.ended()
  }

  return {
    recover,
    end,
    get current() {
      return term
    },
    /** The engine of the current term, or of the last one. */
    get last() {
      return last
    },
  }
}

/** The events of the store while this process renews the lease. A lane without writes would not notice a failure. */
function watchStore(session: LaneSession, holds: () => Holds | undefined) {
  return {
    renewed(): void {
      session.storeTrouble.works()
      holds()?.lift('storeReplaced')
    },
    failed(error: unknown): void {
      session.storeTrouble.failed(error)
      const current = holds()
      if (current === undefined || !isReplaced(error)) return
      if (!current.has('storeReplaced')) reportError(session, error)
      current.add('storeReplaced', error.shortMessage)
    },
  }
}

export function notOwnerError(): TxlaneError {
  return new TxlaneError('The lane has another holder.', { code: 'LEASE_LOST', fate: 'notExecuted' })
}

/** The pause after a failed recovery of the lane, doubled each time. */
const RETRY_MS = 500

/** This process does not take the lane for work before this time, in clock milliseconds. */
export type TakingPause = { untilMs: number }

/** How this process takes the lease of a lane. */
type LeaseTaking = {
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

const leasedWork = (engine: Engine): LeasedWork => ({
  isIdle: () => engine.idle,
  isFollowing: () => engine.following,
  flushed: () => engine.context.lane.journal.flushed(),
})

/** Without work for so long, the leader gives the lane to another process that has some. */
const IDLE_MS = 30_000
/** The number of block times after which the endpoint counts as silent on a slow chain. */
const SILENT_BLOCKS = 3

/** The work under a lease. */
export type LeasedWork = {
  readonly isIdle: () => boolean
  /** The work follows the chain, so its endpoint should answer. */
  readonly isFollowing: () => boolean
  /** Resolves when nothing is left to write. */
  readonly flushed: () => Promise<void>
}

type LeaseWatchParts = {
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
export function watchLease(work: LeasedWork, parts: LeaseWatchParts): () => void {
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
    idleSinceMs = work.isIdle() ? (idleSinceMs ?? now) : undefined
    if (isSilent(now)) {
      void endpointPool.tracker.nextTick().then(parts.endpointIsBack)
      return parts.giveBack(now + ttlMs)
    }
    if (idleSinceMs !== undefined && now - idleSinceMs >= IDLE_MS) {
      await work.flushed()
      if (parts.isOwner() && work.isIdle()) return parts.giveBack()
    }
    plan()
  }

  /** The work follows the chain, and no endpoint has answered for the time of a lease. */
  function isSilent(now: number): boolean {
    const { tickedAt, blockMs = 0 } = endpointPool.tracker
    const heardMs = Math.max(tickedAt?.atMs ?? 0, awakeSinceMs)
    return work.isFollowing() && now - heardMs > Math.max(ttlMs, SILENT_BLOCKS * blockMs)
  }

  function plan(): void {
    dueMs = clock.now() + ttlMs / 2
    cancel = background.setTimer(() => void look().catch((error) => reportError(parts, error)), ttlMs / 2)
  }

  plan()
  return () => cancel?.()
}
