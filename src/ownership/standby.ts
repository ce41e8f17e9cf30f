import { type EndpointPool, readLaneOn } from '../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import type { Admission, AdmissionListener } from '../lane/admission/admission.js'
import { requireKnown } from '../lane/admission/requireKnown.js'
import { createDrainWaiters } from '../lane/engine/drainWaiters.js'
import { type GroupCounts, queueRefusal } from '../lane/queue/groups.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import type { AdmissionTarget, Caller } from '../lane/transaction/caller.js'
import { fromStored } from '../lane/transaction/stored.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import { follow } from '../lane/transaction/transactionEvents.js'
import { reportUnresolved } from '../lane/transaction/unresolved.js'
import { type Clock, stoppableClock } from '../platform/clock.js'
import { createPoller } from '../platform/poller.js'
import { reportError } from '../platform/reportError.js'
import { createStopSignal, raceStop } from '../platform/stopSignal.js'
import { hasEnded, UNSEALED } from '../store/ended.js'
import type { GroupPolicy, Limits, SendOptions, Stage, TxRequest } from '../types/index.js'
import type { Store, StoredTransaction, Wish } from '../types/store.js'
import { findByIds, LOOKUP_BATCH } from './findByIds.js'
import { healthOfStandby } from './health.js'
import { isInFlightByStage } from './inFlight.js'
import type { LaneWorker } from './laneWorker.js'
import { createRemoteLane } from './remoteLane.js'
import { differencesOf, type OptionDifference, type ReportedOptions } from './reportedOptions.js'
import type { Reports } from './reports.js'
import { createStandbyOperations } from './standbyOperations.js'
import { type Shown, shownBy, standbySnapshot } from './standbySnapshot.js'

/** The seat of a process that does not hold the lane. */
export type Standby = LaneWorker & {
  start(): void
  stop(): void
}

const PAGE = 500
/** How often the store is read without a hint: while there is work in the lane, and while there is none. */
const LOOK_MS = { busy: 1_000, idle: 30_000 } as const
/** In a burst each write of the holder is a hint: what is told here may be so much later than there. */
const REST_MS = 20
/** A holder that died has lost the lane after so long. */
const WISH_MS = 20_000
/** Of those in sealed blocks, the newest are the ones without a verdict. */
const SEALED_MAX = 500

export function createStandby(options: {
  readonly session: LaneSession
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly admission: Admission
  readonly clock: Clock
  /** For what stands for no unfinished work. */
  readonly background: Clock
  readonly limits: Limits
  readonly groups: GroupPolicy | undefined
  readonly reports: Reports
  /** Of this process, and who is told where the holder has others. */
  readonly own: ReportedOptions
  readonly differ: (differences: readonly OptionDifference[]) => void
  /** What this process has seen of the chain before. */
  readonly effects: Shown | undefined
  /** Tries to become the holder: the lane may be free. */
  readonly take: () => Promise<unknown>
}): Standby {
  const { session, endpointPool, store, admission, limits, reports } = options
  const { key, transactions, events, txOf } = session
  const clock = stoppableClock(options.clock)
  const background = stoppableClock(options.background)
  const gone = createStopSignal(() => new Error('The lane has changed hands.'))
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
  // What has no verdict yet, whoever sent it; true: it is in no sealed block.
  const open = new Map<string, boolean>()
  // Handed to other lanes of this process, with the places that they had here.
  const left = new Map<string, number>()
  const remoteLane = createRemoteLane({
    key,
    endpointPool,
    clock,
    limits,
    reports,
    open: () => open.size,
  })
  const drains = createDrainWaiters(() => revision !== undefined && ![...open.values()].includes(true))
  // Those that this process found out as the holder it has told.
  const alarmed = new Set([...transactions.values()].filter((one) => one.unresolved).map(({ id }) => id))
  // Known here since, and as they were before.
  const unread = new Set<string>()
  let revision: number | undefined
  let { effects } = options
  // Somebody left word here, and it may be that nobody holds the lane.
  let wishedAtMs: number | undefined
  let unwatch = () => {}
  // Those who asked for a look that begins after they did.
  const awaiting: (() => void)[] = []

  /** There is something that a holder has to do. */
  const wanted = () => open.size > 0 || session.waits > 0 || isWished()
  const isWished = () => wishedAtMs !== undefined && clock.now() - wishedAtMs < WISH_MS

  async function read(): Promise<void> {
    const asked = awaiting.splice(0)
    await readAll().catch((error: unknown) => {
      awaiting.unshift(...asked)
      throw error
    })
    session.storeTrouble.works()
    for (const done of asked) done()
  }

  const differences = () => (remoteLane.options ? differencesOf(options.own, remoteLane.options) : [])

  async function readAll(): Promise<void> {
    void reports.fresh(LOOK_MS.idle)?.then(() => {
      if (!gone.stopped() && differences().length > 0) options.differ(differences())
    })
    revision ??= await begin()
    await readMet()
    let changed = false
    for (let more = true; more; ) {
      const page = await store.changes(key, revision, PAGE)
      if (gone.stopped()) return
      for (const stored of page.transactions) learn(stored)
      revision = page.revision
      changed ||= page.transactions.length > 0
      more = page.transactions.length >= PAGE
    }
    if (!changed) await readPooled()
    drains.check()
    // A hint without a change may be a holder who has let go.
    if (wanted() && !(changed && heldLately())) await options.take()
  }

  // While changes come in, somebody holds the lane: it is not asked for with each of them.
  let askedAtMs = 0
  function heldLately(): boolean {
    if (clock.now() - askedAtMs < LOOK_MS.busy) return true
    askedAtMs = clock.now()
    return false
  }

  /** What is open in the lane, and what became of what this process knows of. */
  async function begin(): Promise<number> {
    const now = await store.changes(key, 'now', 1)
    await findByIds(store, key, [...transactions.keys()], (stored) => {
      if (!gone.stopped()) learn(stored)
      return !gone.stopped()
    })
    for (const stage of UNSEALED) await listed(stage, Number.POSITIVE_INFINITY)
    await listed('sealed', SEALED_MAX)
    return now.revision
  }

  /** Another lane of the pool may have got it, in whose changes it stands from then on: some of them with each look. */
  async function readPooled(): Promise<void> {
    const queued = [...transactions.values()].filter((one) => one.pooled && one.stage === 'queued')
    const some = queued.slice(0, LOOKUP_BATCH).map(({ id }) => id)
    await findByIds(store, key, some, (stored) => {
      const transaction = transactions.get(stored.id)
      if (gone.stopped() || transaction === undefined) return !gone.stopped()
      // Others come first the next time.
      transactions.delete(stored.id)
      transactions.set(stored.id, transaction)
      learn(stored)
      return true
    })
  }

  /** Between two pages of changes: none of them can be older than what is read here, and be taken for newer. */
  async function readMet(): Promise<void> {
    for (const id of unread) {
      const stored = await store.find(key, { id })
      if (gone.stopped()) return
      if (stored) learn(stored)
      unread.delete(id)
    }
  }

  async function listed(stage: Stage, max: number): Promise<void> {
    let cursor: string | undefined
    for (let seen = 0; seen < max; ) {
      const page = await store.list([key], { stage, limit: PAGE, cursor })
      for (const stored of page.items) {
        note(stored)
        if (stored.pooled?.length && !transactions.has(stored.id)) learn(stored)
        if (stored.verdict === 'unresolved' && !transactions.has(stored.id)) meet(fromStored(stored))
      }
      seen += page.items.length
      cursor = page.cursor
      if (cursor === undefined || gone.stopped()) return
    }
  }

  function note({ id, stage, verdict, sequence }: StoredTransaction): void {
    // Read before it left.
    if ((left.get(id) ?? -1) >= sequence) return
    if (hasEnded(stage) || verdict !== undefined) open.delete(id)
    else open.set(id, UNSEALED.includes(stage))
  }

  function learn(stored: StoredTransaction): void {
    const known = transactions.get(stored.id)
    if (stored.lane.address !== key.address) {
      // It was handed to another lane of its pool.
      open.delete(stored.id)
      if (known) session.handedOff?.add(known, stored)
      return
    }
    note(stored)
    const transaction = known ?? session.adopt(stored)
    if (transaction === undefined) return
    follow(session, transaction, stored)
    if (known === undefined) session.replayCallerRequests(transaction)
    alarm(transaction)
    if (hasEnded(transaction.stage)) transactions.delete(transaction.id)
  }

  function meet(transaction: Transaction): void {
    if (hasEnded(transaction.stage)) return
    transactions.set(transaction.id, transaction)
    alarm(transaction)
  }

  /** Whoever found it out may be gone: who listens here hears that an operator's word is needed, once. */
  function alarm(transaction: Transaction): void {
    const { id, unresolved } = transaction
    if (unresolved && !alarmed.has(id)) reportUnresolved(session, transaction)
    if (unresolved) alarmed.add(id)
    else alarmed.delete(id)
  }

  const listener: AdmissionListener = {
    onAdmitting() {},
    onAdmitted(transaction, { signal }) {
      open.set(transaction.id, true)
      remoteLane.give(transaction.request.value ?? 0n)
      events.emit('queued', { tx: txOf(transaction) })
      session.attachSignal(transaction, signal)
    },
    onRejected() {},
    // Whoever holds the lane finds it among what arrived.
    onInDoubt() {},
  }

  const ofGroup = (group: string) => [...transactions.values()].filter((one) => one.group === group)
  // Of those that this process knows.
  const counts: GroupCounts = {
    gasInFlight: 0,
    inFlight: (group) => ofGroup(group).filter(isInFlightByStage).length,
    queued: (group) => ofGroup(group).filter(({ stage }) => stage === 'queued').length,
  }

  function refusal(group: string | undefined, more?: number): TxlaneError | undefined {
    const lanes = session.rebalancing?.lanes() ?? [counts]
    const { queueMax } = limits
    return queueRefusal({ size: transactions.size, queueMax, policy: options.groups, lanes }, group, more)
  }

  function add(
    request: TxRequest,
    sendOptions: SendOptions,
    target: AdmissionTarget,
    { kept, failed }: Caller,
  ): void {
    const caller: Caller = {
      kept(transaction) {
        alarm(transaction)
        poller.pollNow()
        kept(transaction)
      },
      failed,
    }
    const full = refusal(sendOptions.group)
    if (full === undefined) return admission.admit(request, sendOptions, target, { listener, caller })
    requireKnown(options, sendOptions.id, full)
      .then(() => admission.admit(request, sendOptions, target, { listener, caller }))
      .catch(failed)
  }

  async function leave(id: string, wish: Wish): Promise<boolean> {
    const left = await store.wish(key, id, wish)
    wishedAtMs = clock.now()
    poller.pollNow()
    return left
  }

  const operations = createStandbyOperations({
    session,
    add,
    leave,
    stopped: gone.stopped,
    async readAgain(transaction) {
      const stored = await store.find(key, { id: transaction.id })
      if (stored) learn(stored)
      return stored !== undefined
    },
    failed: (error) => reportError(session, error),
  })

  return {
    kind: 'guest',
    add,
    findLive: (by) => ('id' in by ? transactions.get(by.id) : undefined),
    trackFromStore(transaction) {
      meet(transaction)
      if (!transactions.has(transaction.id)) return
      unread.add(transaction.id)
      poller.pollNow()
    },
    // What it takes to sign is the holder's matter.
    async prefetchFees() {},
    async flushed() {},
    // The holder follows the chain.
    observe() {},
    async resolve(id, fate) {
      const stored = await store.find(key, { id })
      if (stored?.verdict !== 'unresolved' || stored.lane.address !== key.address)
        throw invalid('id', id, 'the id of an unresolved transaction')
      await leave(id, { kind: 'resolve', fate })
    },
    async snapshot() {
      const read = readLaneOn(endpointPool, key.address, limits.readTimeoutMs).then(shownBy)
      // A node that does not answer is told with the endpoints.
      const now = await read.catch((error: unknown) => effects ?? Promise.reject(error))
      effects = now
      await reports.fresh(0)
      return standbySnapshot(session, endpointPool, now, remoteLane.holds)
    },
    health: () => healthOfStandby({ session, endpointPool, limits, differences: differences() }),
    inFlight: () => [...transactions.values()].filter(isInFlightByStage),
    async resync() {
      poller.pollNow()
    },
    drained() {
      const looked = new Promise<void>((resolve) => void awaiting.push(resolve))
      poller.pollNow()
      const changed = new Promise<false>((resolve) => void gone.listen(() => resolve(false)))
      // What was known before may be from before the last transaction came in.
      const drained = looked.then(drains.add).then(() => true)
      return session.whileWaiting(() => raceStop(Promise.race([drained, changed]), [session.closing]))
    },
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
    requestBalance: remoteLane.weigh,
    give: remoteLane.give,
    start() {
      session.operations = operations
      session.left = ({ id, sequence }) => {
        left.set(id, sequence)
        open.delete(id)
        drains.check()
      }
      unwatch = store.watch(key, () => poller.pollNow())
      poller.pollNow()
      // Who asked for a cancel of the holder that was here asks the next one.
      for (const transaction of transactions.values()) {
        if (transaction.cancelWaiters !== undefined)
          void leave(transaction.id, { kind: 'cancel' }).catch((error) => reportError(session, error))
      }
    },
    stop() {
      unwatch()
      poller.stop()
      remoteLane.stop()
      clock.stop()
      background.stop()
      gone.stop()
    },
  }
}
