import type { LocalAccount } from 'viem'
import type { Holds } from '../allocator/holds.js'
import { TxlaneError } from '../errors/base.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import { reportError } from '../platform/reportError.js'
import { isReplaced } from '../store/replaced.js'
import type { Lease } from '../types/store.js'
import type { Leader } from './leader.js'
import type { TakingPause } from './leaseTaking.js'
import { type LeaseWatchParts, watchLease } from './leaseWatch.js'
import type { LaneOwnershipParts, OpenSession } from './openSession.js'
import { recoverLane } from './recoverLane.js'

/** The lease while this process has it, and the engine that works under it. */
export type Term = {
  readonly leader: Leader
  readonly lease: Lease
  /** They end all that goes with the lease, but for the engine. The last one ends the renewal of the lease. */
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
    readonly began: () => void
    readonly ended: () => void
  },
) {
  const { options, environment, endpointPool, store, log } = parts
  const { lane, session, admission, heartbeat, reports } = open
  const { clock, background = clock } = environment
  const { logger } = log
  const storeState = watchStore(session, () => term?.leader.engine.context.lane.holds)
  let term: Term | undefined
  let last: Leader | undefined
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
        signer: hooks.signer,
        leased: () => heartbeat.isFresh(lease),
        taken(leader) {
          if (!lostEarly && !hooks.isLeaving()) return lead({ leader, lease, stops: [stopRenewing] })
          leader.engine.stop()
          throw notOwnerError()
        },
      })
    } catch (error) {
      stopRenewing()
      throw error
    }
  }

  function lead(next: Term): void {
    const { leader, lease, stops } = next
    const { epoch } = lease
    const takeover = epoch > 1 && epoch !== lastEpoch + 1
    hooks.began()
    term = next
    last = leader
    lastEpoch = epoch
    logger.info({ ...lane, epoch, takeover }, 'lease gained')
    session.events.emit('leaseGained', { epoch, takeover })
    leader.engine.start()
    stops.unshift(reports.publish(lease, leader.report))
    // Only another process can use a lane that is given back, and it needs a store that outlives this process.
    if (store.durable) stops.unshift(watchLease(leader.engine, leaseWatch(next)))
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

  function end({ leader, stops }: Term): void {
    // The lease is renewed until the engine has stopped.
    for (const stop of stops.slice(0, -1)) stop()
    leader.engine.stop()
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
    /** The current leader, or the last one. */
    get last() {
      return last
    },
  }
}

/** The events of the store while this process renews the lease. A lane without writes would not notice a failure. */
function watchStore(session: LaneSession, holds: () => Holds | undefined) {
  return {
    kept(): void {
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
