import { readLaneOn } from '../chain/endpoints/endpointPool.js'
import { invalid } from '../errors/invalid.js'
import type { Engine } from '../lane/engine/engineTypes.js'
import { unlessStopped } from '../platform/stopSignal.js'
import type { LaneSnapshot, Limits } from '../types/index.js'
import type { LaneReport } from '../types/store.js'
import { healthOfHolder } from './health.js'
import { isInFlight } from './inFlight.js'
import type { Seat } from './laneWorker.js'
import type { ReportedOptions } from './reportedOptions.js'
import { snapshotOf } from './snapshot.js'

/** The seat of the process that holds the lane: what callers want is done by the engine, at once. */
export type Holder = Seat & {
  readonly engine: Engine
  /** What other processes are told of the lane. */
  report(): LaneReport
  /** What the lane looks like now, from its own books. */
  look(): LaneSnapshot
}

export function createHolder(parts: {
  readonly engine: Engine
  readonly limits: Limits
  readonly options: ReportedOptions
}): Holder {
  const { engine, limits, options } = parts
  const { fees, handle, hub, lane, transactions } = engine.context
  const look = () => snapshotOf(engine)

  const holder: Holder = {
    kind: 'holder',
    engine,
    look,
    report() {
      const holds = lane.holds.list()
      const { relief } = handle
      if (relief === undefined) return { holds, options }
      const room = relief.isLeaving ? 0 : holder.room
      const owedWei = room > 0 ? engine.owedWei : undefined
      return { holds, room, load: holder.load, owedWei, options }
    },
    add: engine.intake.add,
    live(by) {
      if ('id' in by) return transactions.get(by.id)
      const nonce = lane.book.nonceOf(by.hash)
      const slot = nonce === undefined ? undefined : lane.book.get(nonce)
      const attempt = slot?.attempts.find(({ hash }) => hash === by.hash)
      return attempt?.claim === undefined ? undefined : transactions.get(attempt.claim)
    },
    // Kept, and not taken up yet: it comes with what arrives.
    met(transaction) {
      if (transaction.stage === 'queued') engine.intake.met(transaction)
    },
    async warm() {
      await unlessStopped(Promise.all([fees.market(), engine.settled()]), [handle.closing]).catch(() => {})
    },
    async flushed(stages) {
      for (const one of stages ? transactions.values() : [])
        if (one.keptStage !== one.stage) engine.context.changed.add(one)
      lane.journal.touch()
      await lane.journal.flushed()
    },
    observe: engine.observe,
    async resolve(id, fate) {
      if (!engine.resolve(id, fate)) throw invalid('id', id, 'the id of an unresolved transaction')
    },
    snapshot: async () => look(),
    health: () => healthOfHolder(engine, limits),
    inFlight: () =>
      [...transactions.values()].filter(({ nonce }) => nonce !== undefined && isInFlight(lane.book, nonce)),
    async resync() {
      const { account } = await readLaneOn(hub, lane.key.address, limits.readTimeoutMs)
      engine.accountIs(account)
      await unlessStopped(hub.tracker.nextTick(), [handle.closing])
    },
    drained: () =>
      engine.drained().then(
        () => true,
        (error: unknown) => {
          if (handle.closing.stopped()) throw error
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
    get spareWei() {
      return engine.spareWei
    },
    weigh: engine.weigh,
    // It finds out by itself what it has to send.
    give() {},
  }
  return holder
}
