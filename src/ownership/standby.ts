import { type EndpointPool, readLaneOn } from '../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import { type Admission, type AdmissionListener, requireKnown } from '../lane/admission/admission.js'
import { healthOfStandby } from '../lane/engine/health.js'
import { isInFlightByStage, type Shown, shownBy, standbySnapshot } from '../lane/engine/snapshot.js'
import type { LaneWorker } from '../lane/engine/worker.js'
import { type GroupCounts, queueRefusal } from '../lane/queue/groups.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import type { Caller } from '../lane/transaction/caller.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import { type Clock, stoppableClock } from '../platform/clock.js'
import { createDoneWaiters } from '../platform/doneWaiters.js'
import { onAbort, raceAbort } from '../platform/onAbort.js'
import { createPoller } from '../platform/poller.js'
import { reportError } from '../platform/reportError.js'
import type { GroupPolicy, Limits } from '../types/index.js'
import type { LaneCommand, Store } from '../types/store.js'
import { createRemoteLane, type RemoteLane } from './remoteLane.js'
import type { Reports } from './reports.js'
import { differencesOf, type OptionDifference, optionReasons, type ReportedOptions } from './sharedOptions.js'
import { createStandbyOperations } from './standbyOperations.js'
import {
  createStandbyReader,
  createStandbyRecords,
  type StandbyReader,
  type StandbyRecords,
} from './standbyRecords.js'

/** The worker of a process that does not own the lane: it reads the store, and posts commands for the owner. */
export type Standby = LaneWorker & {
  start(): void
  stop(): void
}

type StandbyOptions = {
  readonly session: LaneSession
  readonly endpointPool: Pick<EndpointPool, 'chainId' | 'endpoints' | 'reader' | 'tracker'>
  readonly store: Store
  readonly admission: Admission
  readonly clock: Clock
  /** Its timers keep no process alive. */
  readonly background: Clock
  readonly limits: Limits
  readonly groups: GroupPolicy | undefined
  readonly reports: Reports
  /** The options of this process; `differ` is called if those of the owner are others. */
  readonly own: ReportedOptions
  readonly differ: (differences: readonly OptionDifference[]) => void
  /** The last state of the chain that this process has read. */
  readonly effects: Shown | undefined
  /** Tries to become the owner: the lane may be free. */
  readonly take: () => Promise<unknown>
}

export function createStandby(options: StandbyOptions): Standby {
  const { session, endpointPool, store, limits, reports } = options
  const { key, transactions } = session
  const clock = stoppableClock(options.clock)
  const background = stoppableClock(options.background)
  const failed = (error: unknown) => reportError(session, error)
  const ending = new AbortController()
  const ended = ending.signal
  const records = createStandbyRecords(session)
  const reader = createStandbyReader({ store, key, transactions, records, ended })
  const remoteLane = createRemoteLane({ key, endpointPool, clock, limits, reports, open: () => records.size })
  const polling = createStandbyPolling(options, { records, reader, remoteLane, ended, clock, background })
  let { effects } = options
  let unwatch = () => {}

  const { add, refusal, counts } = createStandbyAdmission(options, {
    added(transaction) {
      records.added(transaction.id)
      remoteLane.give(transaction.request.value ?? 0n)
    },
    persisted(transaction) {
      records.alarm(transaction)
      polling.pollNow()
    },
  })

  const operations = createStandbyOperations({
    session,
    add,
    post: polling.post,
    isOver: () => ended.aborted,
    async readAgain(transaction) {
      const stored = await store.find(key, { id: transaction.id })
      if (stored) records.learn(stored)
      return stored !== undefined
    },
    failed,
  })

  async function snapshot(): ReturnType<Standby['snapshot']> {
    const read = readLaneOn(endpointPool, key.address, limits.readTimeoutMs).then(shownBy)
    // The snapshot shows an endpoint that does not answer among the endpoints.
    const now = await read.catch((error: unknown) => effects ?? Promise.reject(error))
    effects = now
    await reports.fresh(0)
    return standbySnapshot(session, endpointPool, now, remoteLane.holds)
  }

  async function resolve(id: string, fate: 'executed' | 'notExecuted'): Promise<void> {
    const stored = await store.find(key, { id })
    if (stored?.verdict !== 'unresolved' || stored.lane.address !== key.address)
      throw invalid('id', id, 'the id of an unresolved transaction')
    await polling.post(id, { kind: 'resolve', fate })
  }

  function start(): void {
    session.operations = operations
    session.left = (transaction) => {
      records.left(transaction)
      polling.left()
    }
    unwatch = store.watch(key, () => polling.pollNow())
    polling.pollNow()
    // Callers asked the former owner in this process for a cancel. The next owner gets the command.
    for (const { id, cancelWaiters } of transactions.values())
      if (cancelWaiters !== undefined) void polling.post(id, { kind: 'cancel' }).catch(failed)
  }

  function stop(): void {
    unwatch()
    polling.stop()
    remoteLane.stop()
    clock.stop()
    background.stop()
    ending.abort()
  }

  return {
    add,
    findLive: (by) => ('id' in by ? transactions.get(by.id) : undefined),
    trackFromStore(transaction) {
      records.track(transaction)
      if (!transactions.has(transaction.id)) return
      reader.readAgain(transaction.id)
      polling.pollNow()
    },
    // Only the owner signs.
    async prefetchFees() {},
    async flushed() {},
    // Only the owner follows the chain.
    observe() {},
    resolve,
    snapshot,
    health: () =>
      healthOfStandby({ session, endpointPool, limits, more: optionReasons(polling.differences) }),
    inFlight: () => [...transactions.values()].filter(isInFlightByStage),
    async resync() {
      effects = (await readAgain(options, polling.readNow, ended)) ?? effects
    },
    drained: polling.drained,
    refusal,
    counts,
    get room() {
      return remoteLane.room
    },
    get load() {
      return remoteLane.load
    },
    get holds() {
      return remoteLane.holds
    },
    get unreservedBalanceWei() {
      return remoteLane.spareWei
    },
    requestBalance: remoteLane.requestBalance,
    give: remoteLane.give,
    start,
    stop,
  }
}

/** Reads the account and the store. Undefined if this process became the owner meanwhile: it reads both as such. */
async function readAgain(
  { session, endpointPool, limits }: Pick<StandbyOptions, 'session' | 'endpointPool' | 'limits'>,
  readStore: () => Promise<void>,
  ended: AbortSignal,
): Promise<Shown | undefined> {
  const readings = Promise.all([
    readLaneOn(endpointPool, session.key.address, limits.readTimeoutMs, true),
    readStore(),
  ])
  let off = () => {}
  const changed = new Promise<undefined>((resolve) => {
    off = onAbort(ended, () => resolve(undefined))
  })
  const read = await raceAbort(Promise.race([readings, changed]), [session.closing]).finally(off)
  return read && shownBy(read[0])
}

/** Adds transactions of this process to a lane that another process owns: into the store, where the owner finds them. */
function createStandbyAdmission(
  options: Pick<StandbyOptions, 'session' | 'store' | 'admission' | 'limits' | 'groups'>,
  notify: {
    /** The transaction is in the store. */
    readonly added: (transaction: Transaction) => void
    /** The same, also for a transaction whose id the store knew. */
    readonly persisted: (transaction: Transaction) => void
  },
): Pick<LaneWorker, 'add' | 'refusal' | 'counts'> {
  const { session, admission } = options
  const { transactions } = session

  const listener: AdmissionListener = {
    onAdmitting() {},
    onAdmitted(transaction, { signal }) {
      notify.added(transaction)
      session.events.emit('queued', { tx: session.txOf(transaction) })
      session.attachSignal(transaction, signal)
    },
    onRejected() {},
    // The owner finds it among the arrivals.
    onInDoubt() {},
  }

  const ofGroup = (group: string) => [...transactions.values()].filter((one) => one.group === group)
  // Only the transactions that this process knows are counted.
  const counts: GroupCounts = {
    gasInFlight: 0,
    inFlight: (group) => ofGroup(group).filter(isInFlightByStage).length,
    queued: (group) => ofGroup(group).filter(({ stage }) => stage === 'queued').length,
  }

  function refusal(group: string | undefined, more?: number): TxlaneError | undefined {
    const lanes = session.rebalancing?.lanes() ?? [counts]
    const { queueMax } = options.limits
    return queueRefusal({ size: transactions.size, queueMax, policy: options.groups, lanes }, group, more)
  }

  return {
    counts,
    refusal,
    add(request, sendOptions, target, { persisted, failed }) {
      const caller: Caller = {
        persisted(transaction) {
          notify.persisted(transaction)
          persisted(transaction)
        },
        failed,
      }
      const full = refusal(sendOptions.group)
      if (full === undefined) return admission.admit(request, sendOptions, target, { listener, caller })
      requireKnown(options, sendOptions.id, full)
        .then(() => admission.admit(request, sendOptions, target, { listener, caller }))
        .catch(failed)
    },
  }
}

/** How often the store is read without a hint: while the lane has work, and while it has none. */
const LOOK_MS = { busy: 1_000, idle: 30_000 } as const
/** In a burst each write of the owner is a hint. Events of this process may be later by this time. */
const REST_MS = 20
/** An owner that died has lost the lane after so long. */
const COMMAND_MS = 20_000

/** When a standby reads the store, and when it tries to become the owner. */
type StandbyPolling = {
  pollNow(): void
  /** Resolves after a read of the store that began after the call. */
  readNow(): Promise<void>
  /** Posts a command for the owner. Resolves to false if the store does not know the transaction. */
  post(id: string, command: LaneCommand): Promise<boolean>
  /** Resolves to true when all transactions are in sealed blocks, and to false when this process became the owner. */
  drained(): Promise<boolean>
  /** A transaction left the lane. */
  left(): void
  readonly differences: readonly OptionDifference[]
  stop(): void
}

function createStandbyPolling(
  options: Pick<StandbyOptions, 'session' | 'store' | 'reports' | 'own' | 'differ' | 'take'>,
  parts: {
    readonly records: StandbyRecords
    readonly reader: StandbyReader
    readonly remoteLane: Pick<RemoteLane, 'options'>
    /** Aborted once the standby has ended. */
    readonly ended: AbortSignal
    readonly clock: Clock
    readonly background: Clock
  },
): StandbyPolling {
  const { session, store, reports } = options
  const { records, reader, remoteLane, ended, clock, background } = parts
  const drains = createDoneWaiters(() => reader.hasBegun && !records.isAnyUnsealed)
  const poller = createPoller({
    clock: () => (wanted() ? clock : background),
    everyMs: () => (wanted() ? LOOK_MS.busy : LOOK_MS.idle),
    restMs: REST_MS,
    read,
    failed(error) {
      session.storeTrouble.failed(error)
      reportError(session, error)
    },
  })
  // A command was posted here, and possibly no process owns the lane.
  let commandedAtMs: number | undefined
  let askedAtMs = 0
  // The callers that asked for a read which begins after their call.
  const awaiting: (() => void)[] = []

  /** The lane has work for an owner. */
  const wanted = () => records.size > 0 || session.waits > 0 || isCommanded()
  const isCommanded = () => commandedAtMs !== undefined && clock.now() - commandedAtMs < COMMAND_MS
  const differences = () => (remoteLane.options ? differencesOf(options.own, remoteLane.options) : [])

  async function read(): Promise<void> {
    const asked = awaiting.splice(0)
    await readAll().catch((error: unknown) => {
      awaiting.unshift(...asked)
      throw error
    })
    session.storeTrouble.works()
    for (const done of asked) done()
  }

  async function readAll(): Promise<void> {
    void reports.fresh(LOOK_MS.idle)?.then(() => {
      if (!ended.aborted && differences().length > 0) options.differ(differences())
    })
    const changed = await reader.read()
    if (ended.aborted) return
    drains.check()
    // A hint without a change may come from an owner that gave the lane back.
    if (wanted() && !(changed && isOwnedLately())) await options.take()
  }

  function readNow(): Promise<void> {
    const looked = new Promise<void>((resolve) => void awaiting.push(resolve))
    poller.pollNow()
    return looked
  }

  /** While changes come in, some process owns the lane: this one does not try to take it with each of them. */
  function isOwnedLately(): boolean {
    if (clock.now() - askedAtMs < LOOK_MS.busy) return true
    askedAtMs = clock.now()
    return false
  }

  return {
    pollNow: poller.pollNow,
    readNow,
    async post(id, command) {
      const posted = await store.postCommand(session.key, id, command)
      commandedAtMs = clock.now()
      poller.pollNow()
      return posted
    },
    drained() {
      const looked = readNow()
      let off = () => {}
      const changed = new Promise<false>((resolve) => {
        off = onAbort(ended, () => resolve(false))
      })
      // Earlier reads may be older than the newest transaction.
      const drained = looked.then(drains.add).then(() => true)
      return session
        .whileWaiting(() => raceAbort(Promise.race([drained, changed]), [session.closing]))
        .finally(off)
    },
    left: drains.check,
    get differences() {
      return differences()
    },
    stop: poller.stop,
  }
}
