import { type Address, getAddress, type LocalAccount } from 'viem'
import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { Environment } from '../chain/environment.js'
import { TxlaneError } from '../errors/base.js'
import { safeError } from '../errors/redactError.js'
import { createAdmission } from '../lane/admission/admission.js'
import { createAuthorities } from '../lane/admission/authorities.js'
import { createEmitter } from '../lane/emitter.js'
import type { Engine } from '../lane/engine/engineTypes.js'
import { createLaneSession, type LaneSession } from '../lane/session/laneSession.js'
import { settleVerdict } from '../lane/transaction/transaction.js'
import { rejectWaiters } from '../lane/transaction/waiters.js'
import { closedError } from '../lane/transaction/waiting.js'
import type { CancelTimer } from '../platform/clock.js'
import { reportError } from '../platform/reportError.js'
import { isReplaced } from '../store/replaced.js'
import type { LaneKey, Lease, Store } from '../types/store.js'
import { closeLeader } from './close.js'
import { createHandedOffTransactions } from './handedOffTransactions.js'
import { heartbeatOf } from './heartbeat.js'
import { countInFlight } from './inFlight.js'
import type { LaneLog } from './laneLog.js'
import type { LaneWorker } from './laneWorker.js'
import type { Leader } from './leader.js'
import type { OpenOptions } from './open.js'
import { recoverLane } from './recoverLane.js'
import { type OptionDifference, reportedOptions, sayDifferences } from './reportedOptions.js'
import { type Reports, reportsOf } from './reports.js'
import { createStandby, type Standby } from './standby.js'

/** Whether this process holds the lane, and how that changes: P7 in one place. */
export type LaneOwnership = {
  readonly session: LaneSession
  readonly worker: LaneWorker
  /** What other processes say of their lanes, in its store. */
  readonly reports: Reports
  /** The holder of the lane in this process, now or last. */
  readonly leader: Leader | undefined
  /** Takes the lane where it is free. @throws `LEASE_LOST` while another process has it */
  hold(): Promise<Engine>
  /** From now on transactions can be signed here. */
  signWith(signer: LocalAccount): void
  /** Nothing is reserved here, however often the lane changes hands, until it is taken back. */
  pause(): void
  unpause(): void
  /** Lifts what waits for an operator. */
  resume(): void
  /** Finishes what is reserved, tells who waits that nobody here watches any more, and gives the lane back last. */
  close(): Promise<void>
}

/** A lane in which nothing is left to do is given back after so long: whoever has work next takes it at once. */
const IDLE_MS = 30_000
/** Blocks without an answer after which the node counts as gone, where they take longer than a lease. */
const SILENT_BLOCKS = 3
/** After a failure to take the lane up, doubled each time. */
const RETRY_MS = 500

type LeaseHolder = {
  readonly leader: Leader
  readonly lease: Lease
  readonly letGo: () => void
  sinceMs: number
}

/** Opens the lane as its holder where it is free, else as a guest. */
export async function openLaneOwnership(parts: {
  readonly options: OpenOptions
  readonly environment: Environment
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly key: LaneKey
  readonly log: LaneLog
  /** Another lane of the chain, where it is open in this process. */
  readonly beside: (address: Address) => LaneOwnership | undefined
  readonly begun: (events: LaneSession['events']) => void
}): Promise<LaneOwnership> {
  const { options, environment, endpointPool, store, key, beside } = parts
  const { clock, random, background = clock } = environment
  const { limits } = options
  const { logger } = parts.log
  const lane = { chainId: key.chainId, address: getAddress(key.address) }
  const events = createEmitter(lane, (error) => logger.error({ error: safeError(error) }, 'a listener threw'))
  parts.begun(events)
  const session = createLaneSession({
    key,
    events,
    endpointPool,
    clock,
    fees: options.fees,
    background,
    limits,
    beside: (address) => beside(address)?.session,
  })
  const { transactions } = session
  const handedOff = createHandedOffTransactions({ session, store, clock })
  session.handedOff = handedOff
  const { lanes } = environment.shared
  const timeoutMs = limits.readTimeoutMs
  const authorities = createAuthorities({ endpointPool, key, transactions, lanes, timeoutMs })
  const isOpen = (address: Address) => beside(address) !== undefined
  const admission = createAdmission({ session, endpointPool, store, random, clock, authorities, isOpen })
  const heartbeat = heartbeatOf(environment, store)
  const reports = reportsOf(environment, store)
  let { signer } = options
  let tenant: LeaseHolder | undefined
  let standby: Standby | undefined
  let last: Leader | undefined
  let lastEpoch = Number.NaN
  let taking: Promise<boolean> | undefined
  let leaving = false
  let notBeforeMs = 0
  let failures = 0
  let watch: CancelTimer | undefined
  let stopTelling: (() => void) | undefined
  let differed: string | undefined
  let firstLook: Promise<void> | undefined

  /** Resolves to true where this process holds the lane by then. */
  function take(): Promise<boolean> {
    taking ??= tryTake().finally(() => {
      taking = undefined
    })
    return taking
  }

  async function tryTake(): Promise<boolean> {
    if (leaving || tenant !== undefined) return tenant !== undefined
    const lease = await store.acquire(key, heartbeat.holder, heartbeat.ttlMs)
    if (lease === undefined) return false
    // The head is asked for with the account: neither needs the other.
    firstLook ??= endpointPool.tracker.nextTick()
    try {
      await begin(lease)
      failures = 0
    } catch (error) {
      notBeforeMs = clock.now() + Math.min(heartbeat.ttlMs, RETRY_MS * 2 ** failures++)
      await store.release(lease).catch(() => {})
      throw error
    }
    return true
  }

  /** For a guest with work for a holder. One that cannot sign, or has just failed, leaves the lane to others. */
  async function takeForWork(): Promise<void> {
    if (signer !== undefined && clock.now() >= notBeforeMs) await take()
  }

  async function begin(lease: Lease): Promise<void> {
    // From the first moment: to read what it left may take longer than a lease lasts.
    let lostEarly = false
    const lost = () => {
      if (tenant?.lease === lease) leaseLost()
      else lostEarly = true
    }
    const letGo = heartbeat.hold(lease, { lost, kept: storeIsBack, failed: storeFailed })
    try {
      await recoverLane({
        options,
        environment,
        endpointPool,
        store,
        session,
        log: parts.log,
        admission,
        lease,
        seen: lease.epoch === lastEpoch + 1,
        signer: () => signer,
        leased: () => heartbeat.isFresh(lease),
        lost,
        taken(leader) {
          if (!lostEarly && !leaving) return install({ leader, lease, letGo, sinceMs: clock.now() })
          leader.engine.stop()
          throw heldError()
        },
      })
    } catch (error) {
      letGo()
      throw error
    }
  }

  function install(next: LeaseHolder): void {
    const { epoch } = next.lease
    const takeover = epoch > 1 && epoch !== lastEpoch + 1
    standby?.stop()
    standby = undefined
    tenant = next
    last = next.leader
    lastEpoch = next.lease.epoch
    logger.info({ ...lane, epoch, takeover }, 'lease gained')
    events.emit('leaseGained', { epoch, takeover })
    next.leader.engine.start()
    stopTelling = reports.tell(next.lease, next.leader.report)
    watchOver(next)
  }

  /** A lane that has something to follow has looked at it. For one that has nothing the head is enough. */
  function looked(): Promise<void> | undefined {
    return tenant?.leader.engine.following ? endpointPool.tracker.nextTick() : firstLook
  }

  function becomeGuest(): void {
    const { groups } = options
    const shown = last?.look()
    standby = createStandby({
      session,
      endpointPool,
      store,
      admission,
      clock,
      background,
      limits,
      groups,
      reports,
      own: reportedOptions(options),
      differ,
      effects: shown,
      take: takeForWork,
    })
    standby.start()
  }

  /** Once for the same ones: they are looked at again and again. */
  function differ(differences: readonly OptionDifference[]): void {
    const sentence = sayDifferences(differences)
    if (sentence === differed) return
    differed = sentence
    logger.warn({ ...lane, options: differences.map(({ option }) => option) }, sentence)
    parts.log.notice(`${key.address} on chain ${key.chainId}: ${sentence}`)
  }

  function leaseLost(): void {
    const lost = tenant
    if (lost === undefined) return
    stepDown(lost)
    const { epoch } = lost.lease
    logger.warn({ ...lane, epoch }, 'lease lost')
    events.emit('leaseLost', { epoch })
  }

  /** At the latest with a heartbeat: a lane that has nothing to write would notice nothing. */
  function storeFailed(error: unknown): void {
    session.storeTrouble.failed(error)
    if (tenant === undefined || !isReplaced(error)) return
    const { holds } = tenant.leader.engine.context.lane
    if (!holds.has('storeReplaced')) reportError(session, error)
    holds.add('storeReplaced', error.shortMessage)
  }

  function storeIsBack(): void {
    session.storeTrouble.works()
    tenant?.leader.engine.context.lane.holds.lift('storeReplaced')
  }

  function stepDown({ leader, letGo }: LeaseHolder): void {
    watch?.()
    stopTelling?.()
    leader.engine.stop()
    letGo()
    tenant = undefined
    if (!leaving) becomeGuest()
  }

  /** Gives the lane back, to whoever has work for it, or can reach a node. */
  async function yieldLane(current: LeaseHolder): Promise<void> {
    stepDown(current)
    logger.info({ ...lane, epoch: current.lease.epoch }, 'lease given back')
    await store.release(current.lease)
  }

  /** A store that dies with this process has nobody else to give a lane to. */
  function watchOver(current: LeaseHolder): void {
    if (!store.durable) return
    const { engine } = current.leader
    let idleSinceMs: number | undefined
    let dueMs = 0
    const look = async () => {
      if (tenant !== current || leaving) return
      const now = clock.now()
      // It was this process that slept, not the node.
      if (now - dueMs > heartbeat.ttlMs / 2) current.sinceMs = now
      idleSinceMs = engine.idle ? (idleSinceMs ?? now) : undefined
      if (isSilent(current, now)) {
        notBeforeMs = now + heartbeat.ttlMs
        // As soon as the node answers again, this process may have the lane again.
        void endpointPool.tracker.nextTick().then(() => {
          notBeforeMs = 0
        })
        return yieldLane(current)
      }
      if (idleSinceMs !== undefined && now - idleSinceMs >= IDLE_MS) {
        await engine.context.lane.journal.flushed()
        if (tenant === current && engine.idle) return yieldLane(current)
      }
      plan()
    }
    const plan = () => {
      dueMs = clock.now() + heartbeat.ttlMs / 2
      watch = background.setTimer(
        () => void look().catch((error) => reportError(session, error)),
        heartbeat.ttlMs / 2,
      )
    }
    plan()
  }

  /** Nothing was heard of the chain for the time of a lease, with something to follow there. */
  function isSilent({ leader, sinceMs }: LeaseHolder, now: number): boolean {
    const { tickedAt, blockMs = 0 } = endpointPool.tracker
    const heardMs = Math.max(tickedAt?.atMs ?? 0, sinceMs)
    return leader.engine.following && now - heardMs > Math.max(heartbeat.ttlMs, SILENT_BLOCKS * blockMs)
  }

  /** A store that ends with the process has nobody who sends again what a pool loses. */
  function warnOfLosses(): void {
    const inFlight = tenant === undefined ? 0 : countInFlight(tenant.leader.engine.context.lane.book)
    if (store.durable || inFlight === 0) return
    logger.warn(
      { inFlight, lane: key.address },
      'closed with transactions in flight: the store ends with the process, and nobody sends them again',
    )
  }

  async function close(): Promise<void> {
    admission.close()
    await taking?.catch(() => {})
    if (tenant) await closeLeader(tenant.leader.engine, limits)
    leaving = true
    warnOfLosses()
    const held = tenant
    if (held) stepDown(held)
    standby?.stop()
    session.closing.stop()
    handedOff.stop()
    for (const transaction of [...session.transactions.values(), ...handedOff.all()]) {
      if (transaction.waiters?.length) rejectWaiters(transaction, closedError(transaction))
      settleVerdict(transaction)
    }
    if (held === undefined) return
    await held.leader.engine.context.lane.journal.flushed()
    await store.release(held.lease).catch((error: unknown) => {
      logger.warn({ error: String(safeError(error)) }, 'the lease was not given back')
    })
  }

  const ownership: LaneOwnership = {
    session,
    reports,
    get worker() {
      return (tenant?.leader ?? standby ?? last) as LaneWorker
    },
    get leader() {
      return last
    },
    async hold() {
      if (tenant === undefined) await take()
      if (tenant === undefined) throw heldError()
      return tenant.leader.engine
    },
    signWith(account) {
      if (signer !== undefined) return
      signer = account
      if (tenant === undefined) return
      tenant.leader.engine.context.signer = account
      tenant.leader.engine.kick()
    },
    pause() {
      session.paused = true
      tenant?.leader.engine.context.lane.holds.add('paused')
    },
    unpause() {
      session.paused = false
      tenant?.leader.engine.context.lane.holds.lift('paused')
    },
    resume() {
      session.paused = false
      tenant?.leader.engine.resume()
    },
    close,
  }

  if (await take()) await looked()
  else becomeGuest()
  return ownership
}

function heldError(): TxlaneError {
  return new TxlaneError('The lane has another holder.', { code: 'LEASE_LOST', fate: 'notExecuted' })
}
