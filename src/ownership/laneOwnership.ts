import { type Address, getAddress, type LocalAccount } from 'viem'
import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { Environment } from '../chain/environment.js'
import { safeError } from '../errors/redactError.js'
import { createAdmission } from '../lane/admission/admission.js'
import { createAuthorities } from '../lane/admission/authorities.js'
import { createEmitter } from '../lane/emitter.js'
import type { Engine } from '../lane/engine/engineTypes.js'
import { countInFlight } from '../lane/engine/snapshot.js'
import type { LaneWorker } from '../lane/engine/worker.js'
import { createLaneSession, type LaneSession } from '../lane/session/laneSession.js'
import { settleVerdict } from '../lane/transaction/changes.js'
import { closedError } from '../lane/transaction/txError.js'
import { rejectWaiters } from '../lane/transaction/waiters.js'
import { onAbort } from '../platform/onAbort.js'
import { closedWhileOpening } from '../platform/registry.js'
import type { LaneKey, Store } from '../types/store.js'
import { createHandedOffTransactions } from './handedOffTransactions.js'
import { heartbeatOf } from './heartbeat.js'
import type { LaneLog } from './laneLog.js'
import type { OpenOptions } from './open.js'
import { type Reports, reportsOf } from './reports.js'
import { type OptionDifference, reportedOptions, sayDifferences } from './sharedOptions.js'
import { createStandby, type Standby } from './standby.js'
import { createLeaseTaking, createTerms, notOwnerError, type TakingPause, type Term } from './terms.js'

/** Whether this process owns the lane, and how that changes: P7 in one place. */
export type LaneOwnership = {
  readonly session: LaneSession
  readonly worker: LaneWorker
  /** The reports of other processes about their lanes, in the same store. */
  readonly reports: Reports
  /** The engine of the lane in this process, now or last. */
  readonly engine: Engine | undefined
  /** Resolves after the first look at the chain. */
  readonly looked: Promise<void>
  /** Takes the lane if it is free. @throws `LEASE_LOST` while another process owns it */
  hold(): Promise<Engine>
  /** Transactions can be signed in this process from now on. */
  signWith(signer: LocalAccount): void
  /** No nonce is reserved in this process, however often the lane changes its owner, until `unpause` or `resume`. */
  pause(): void
  unpause(): void
  /** Lifts the holds that wait for an operator. */
  resume(): void
  /** Finishes the reserved nonces, rejects the promises of waiting callers, and gives the lane back last. */
  close(): Promise<void>
}

export type LaneOwnershipParts = {
  readonly options: OpenOptions
  readonly environment: Environment
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly key: LaneKey
  readonly log: LaneLog
  /** Another lane of the chain, if it is open in this process. */
  readonly beside: (address: Address) => LaneOwnership | undefined
  readonly begun: (events: LaneSession['events']) => void
}

/**
 * Opens the lane: as its leader if the lease is free, else as a standby.
 *
 * @throws TxlaneError `CLOSED` if the opener closes meanwhile: the lane is not open then
 */
export async function openLaneOwnership(parts: LaneOwnershipParts): Promise<LaneOwnership> {
  const { closing } = parts.options
  const session = openSession(parts)
  const leaving = new AbortController()
  const off = closing && onAbort(closing, () => leaving.abort())
  if (closing?.aborted) leaving.abort()
  const roles = createRoles(parts, session, leaving)
  try {
    const isOwner = await roles.take()
    if (!isOwner && !leaving.signal.aborted) roles.becomeStandby()
    const ownership = createOwnership(parts, session, roles, isOwner ? roles.looked() : undefined)
    if (!leaving.signal.aborted) return ownership
    await ownership.close()
    throw closedWhileOpening()
  } finally {
    // From now on other users of the lane may need it after its opener.
    off?.()
  }
}

export type OpenSession = ReturnType<typeof openSession>

/** The parts of a lane that outlive a change of its owner. */
function openSession(parts: LaneOwnershipParts) {
  const { options, environment, endpointPool, store, key, log, beside } = parts
  const { clock, random, background = clock } = environment
  const { limits } = options
  const lane = { chainId: key.chainId, address: getAddress(key.address) }
  const events = createEmitter(lane, (error) =>
    log.logger.error({ error: safeError(error) }, 'a listener threw'),
  )
  parts.begun(events)
  const session = createLaneSession({
    key,
    events,
    endpointPool,
    clock,
    fees: options.fees,
    finality: options.finality,
    background,
    limits,
    beside: (address) => beside(address)?.session,
  })
  const handedOff = createHandedOffTransactions({ session, store, clock })
  session.handedOff = handedOff
  const { transactions } = session
  const { lanes } = environment.shared
  const timeoutMs = limits.readTimeoutMs
  const authorities = createAuthorities({ endpointPool, key, transactions, lanes, timeoutMs })
  const isOpen = (address: Address) => beside(address) !== undefined
  const admission = createAdmission({ session, endpointPool, store, random, clock, authorities, isOpen })
  const heartbeat = heartbeatOf(environment, store)
  return { lane, session, handedOff, admission, heartbeat, reports: reportsOf(environment, store) }
}

type Roles = ReturnType<typeof createRoles>

/** Changes this process between leader and standby. */
function createRoles(parts: LaneOwnershipParts, open: OpenSession, leaves: AbortController) {
  const { options, environment, endpointPool, store, key } = parts
  const { session, admission, heartbeat, reports } = open
  const { clock, background = clock } = environment
  const differ = warnOfDifferences(parts, open.lane)
  const pause: TakingPause = { untilMs: 0 }
  let { signer } = options
  let standby: Standby | undefined
  let leaving = false
  let firstLook: Promise<void> | undefined
  const terms = createTerms(parts, open, {
    pause,
    signer: () => signer,
    isLeaving: () => leaving,
    leaving: leaves.signal,
    began() {
      standby?.stop()
      standby = undefined
    },
    ended() {
      if (!leaving) becomeStandby()
    },
  })
  const taking = createLeaseTaking({
    store,
    key,
    heartbeat,
    clock,
    pause,
    isOwner: () =>
      leaves.signal.aborted && terms.current === undefined ? undefined : terms.current !== undefined,
    recover(lease) {
      // The head is read at the same time as the account.
      firstLook ??= endpointPool.tracker.nextTick()
      return terms.recover(lease)
    },
  })

  function becomeStandby(): void {
    const { limits, groups } = options
    const own = reportedOptions(options)
    const shared = { session, endpointPool, store, admission, clock, background, limits, groups, reports }
    // A process that cannot sign leaves the lane to others.
    const take = async () => (signer === undefined ? undefined : taking.takeIfDue())
    standby = createStandby({ ...shared, own, differ, effects: terms.last?.snapshot(), take })
    standby.start()
  }

  return {
    take: taking.take,
    becomeStandby,
    get worker() {
      return (terms.current?.engine.worker ?? standby ?? terms.last?.worker) as LaneWorker
    },
    get last() {
      return terms.last
    },
    get engine() {
      return terms.current?.engine
    },
    /** A lane with something to follow has looked at it. For any other lane the head is enough. */
    looked: () => (terms.current?.engine.following ? endpointPool.tracker.nextTick() : firstLook),
    signWith(account: LocalAccount): void {
      if (signer !== undefined) return
      signer = account
      const engine = terms.current?.engine
      if (engine === undefined) return
      engine.context.signer = account
      engine.kick()
    },
    /** Resolves with the term that ended. This process takes no role from now on. */
    async leave(): Promise<Term | undefined> {
      leaves.abort()
      await taking.settled()
      await terms.current?.engine.finish()
      leaving = true
      const ended = terms.current
      warnOfLosses(parts, ended)
      if (ended) terms.end(ended)
      standby?.stop()
      return ended
    },
  }
}

/** Warns of options that differ from those of the leader: once for the same differences, which are compared repeatedly. */
function warnOfDifferences({ key, log }: LaneOwnershipParts, lane: OpenSession['lane']) {
  let warned: string | undefined
  return (differences: readonly OptionDifference[]): void => {
    const sentence = sayDifferences(differences)
    if (sentence === warned) return
    warned = sentence
    log.logger.warn({ ...lane, options: differences.map(({ option }) => option) }, sentence)
    log.notice(`${key.address} on chain ${key.chainId}: ${sentence}`)
  }
}

/** A store that ends with the process leaves no process that resends transactions which a pool loses. */
function warnOfLosses({ store, log, key }: LaneOwnershipParts, term: Term | undefined): void {
  const inFlight = term === undefined ? 0 : countInFlight(term.engine.context.lane.book)
  if (store.durable || inFlight === 0) return
  log.logger.warn(
    { inFlight, lane: key.address },
    'closed with transactions in flight: the store ends with the process, and nobody sends them again',
  )
}

function createOwnership(
  { store, log }: LaneOwnershipParts,
  { session, handedOff, admission, reports }: OpenSession,
  roles: Roles,
  looked = Promise.resolve(),
): LaneOwnership {
  async function close(): Promise<void> {
    admission.close()
    const ended = await roles.leave()
    session.close()
    handedOff.stop()
    for (const transaction of [...session.transactions.values(), ...handedOff.all()]) {
      if (transaction.waiters?.length) rejectWaiters(transaction, closedError(transaction))
      settleVerdict(transaction)
    }
    if (ended === undefined) return
    await ended.engine.context.lane.journal.flushed()
    await store.release(ended.lease).catch((error: unknown) => {
      log.logger.warn({ error: String(safeError(error)) }, 'the lease was not given back')
    })
  }

  return {
    session,
    reports,
    looked,
    get worker() {
      return roles.worker
    },
    get engine() {
      return roles.last
    },
    async hold() {
      if (roles.engine === undefined) await roles.take()
      if (roles.engine === undefined) throw notOwnerError()
      return roles.engine
    },
    signWith: roles.signWith,
    pause() {
      session.paused = true
      roles.engine?.context.lane.holds.add('paused')
    },
    unpause() {
      session.paused = false
      roles.engine?.context.lane.holds.lift('paused')
    },
    resume() {
      session.paused = false
      roles.engine?.resume()
    },
    close,
  }
}
