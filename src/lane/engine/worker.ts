import { readLaneOn } from '../../chain/endpoints/endpointPool.js'
import { invalid } from '../../errors/invalid.js'
import type { Engine } from './engineTypes.js'
import { raceAbort } from '../../platform/onAbort.js'
import type { LaneSnapshot, Limits } from '../../types/index.js'
import type { LaneReport } from '../../types/store.js'
import { healthOfLeader } from './health.js'
import type { LaneWorker } from './laneWorker.js'
import type { ReportedOptions } from '../../ownership/sharedOptions.js'
import { isInFlight, snapshotOf } from './snapshot.js'

/** The worker of the process that owns the lane: its engine serves callers directly. */
export type Leader = LaneWorker & {
  readonly engine: Engine
  /** The report about the lane for other processes. */
  report(): LaneReport
  /** The state of the lane now, from its own books. */
  currentSnapshot(): LaneSnapshot
}

export function createLeader(parts: {
  readonly engine: Engine
  readonly limits: Limits
  readonly options: ReportedOptions
}): Leader {
  const { engine, limits, options } = parts
  const { fees, session, endpointPool, lane, transactions } = engine.context
  const currentSnapshot = () => snapshotOf(engine)

  const leader: Leader = {
    engine,
    currentSnapshot,
    report() {
      const holds = lane.holds.list()
      const { rebalancing: relief } = session
      if (relief === undefined) return { holds, options }
      const room = relief.isLeaving ? 0 : leader.room
      const owedWei = room > 0 ? engine.owedWei : undefined
      return { holds, room, load: leader.load, owedWei, options }
    },
    add: engine.intake.add,
    findLive(by) {
      if ('id' in by) return transactions.get(by.id)
      const nonce = lane.book.nonceOf(by.hash)
      const slot = nonce === undefined ? undefined : lane.book.get(nonce)
      const attempt = slot?.attempts.find(({ hash }) => hash === by.hash)
      return attempt?.claim === undefined ? undefined : transactions.get(attempt.claim)
    },
    // It is in the store, and the inbox admits it with the next arrivals.
    trackFromStore(transaction) {
      if (transaction.stage === 'queued') engine.intake.trackFromStore(transaction)
    },
    async prefetchFees() {
      await raceAbort(Promise.all([fees.market(), engine.settled()]), [session.closing]).catch(() => {})
    },
    async flushed(stages) {
      for (const one of stages ? transactions.values() : [])
        if (one.persistedStage !== one.stage) engine.context.changed.add(one)
      lane.journal.touch()
      await lane.journal.flushed()
    },
    observe: engine.observe,
    async resolve(id, fate) {
      if (!engine.resolve(id, fate)) throw invalid('id', id, 'the id of an unresolved transaction')
    },
    snapshot: async () => currentSnapshot(),
    health: () => healthOfLeader(engine, limits),
    inFlight: () =>
      [...transactions.values()].filter(({ nonce }) => nonce !== undefined && isInFlight(lane.book, nonce)),
    async resync() {
      const { account } = await readLaneOn(endpointPool, lane.key.address, limits.readTimeoutMs)
      engine.accountIs(account)
      await raceAbort(endpointPool.tracker.nextTick(), [session.closing])
    },
    drained: () =>
      engine.drained().then(
        () => true,
        (error: unknown) => {
          if (session.closing.aborted) throw error
          return false
        },
      ),
    refusal: engine.intake.refusal,
    counts: engine.counts,
    get room() {
      return engine.broadcaster.room - engine.waiting
    },
    get load() {
      return lane.book.cursor - lane.book.floor + engine.waiting
    },
    get holds() {
      return lane.holds.list()
    },
    get unreservedBalanceWei() {
      return engine.spareWei
    },
    requestBalance: engine.requestBalance,
    // The engine knows by itself what it has to send.
    give() {},
  }
  return leader
}
