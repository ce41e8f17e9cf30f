import { type EndpointPool, readLaneOn } from '../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import type { Admission, AdmissionListener } from '../lane/admission/admission.js'
import { requireKnown } from '../lane/admission/requireKnown.js'
import { healthOfStandby } from '../lane/engine/health.js'
import type { LaneWorker } from '../lane/engine/worker.js'
import { isInFlightByStage, type Shown, shownBy, standbySnapshot } from '../lane/engine/snapshot.js'
import { type GroupCounts, queueRefusal } from '../lane/queue/groups.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import type { Caller } from '../lane/transaction/caller.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import { type Clock, stoppableClock } from '../platform/clock.js'
import { reportError } from '../platform/reportError.js'
import type { GroupPolicy, Limits } from '../types/index.js'
import type { Store } from '../types/store.js'
import { createRemoteLane } from './remoteLane.js'
import type { Reports } from './reports.js'
import { type OptionDifference, optionReasons, type ReportedOptions } from './sharedOptions.js'
import { createStandbyOperations } from './standbyOperations.js'
import { createStandbyPolling } from './standbyPolling.js'
import { createStandbyReader, createStandbyRecords } from './standbyRecords.js'

/** The worker of a process that does not own the lane: it reads the store, and posts commands for the owner. */
export type Standby = LaneWorker & {
  start(): void
  stop(): void
}

export type StandbyOptions = {
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
    kept(transaction) {
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
      polling.pollNow()
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

/** Adds transactions of this process to a lane that another process owns: into the store, where the owner finds them. */
function createStandbyAdmission(
  options: Pick<StandbyOptions, 'session' | 'store' | 'admission' | 'limits' | 'groups'>,
  notify: {
    /** The transaction is in the store. */
    readonly added: (transaction: Transaction) => void
    /** The same, also for a transaction whose id the store knew. */
    readonly kept: (transaction: Transaction) => void
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
    add(request, sendOptions, target, { kept, failed }) {
      const caller: Caller = {
        kept(transaction) {
          notify.kept(transaction)
          kept(transaction)
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
