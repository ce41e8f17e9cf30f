import { readLaneOn } from '../../chain/endpoints/endpointPool.js'
import { invalid } from '../../errors/invalid.js'
import type { createDoneWaiters } from '../../platform/doneWaiters.js'
import { raceAbort } from '../../platform/onAbort.js'
import type { Admitting } from './admitting.js'
import type { Core } from './core.js'
import type { EngineOptions } from './engineTypes.js'
import { healthOfLeader } from './health.js'
import type { LaneWorker } from './laneWorker.js'
import type { RemoteCommands } from './remoteCommands.js'
import type { Sending } from './sending.js'
import { isInFlight, snapshotOf } from './snapshot.js'
import type { WaitReasons } from './waitReasons.js'

/** The worker of the process that owns the lane: the parts of its engine serve callers directly. */
export function createLeaderWorker(
  core: Core,
  { session, endpointPool, limits }: EngineOptions,
  sending: Sending,
  admitting: Admitting,
  parts: {
    readonly reasons: WaitReasons
    readonly commands: RemoteCommands
    readonly drains: ReturnType<typeof createDoneWaiters>
  },
): LaneWorker {
  const { context, lane, closing } = core
  const { fees, transactions } = context
  const { tracker } = endpointPool
  const { bounds, broadcaster, code, funds, seeding } = sending
  const { intake } = admitting

  return {
    add: intake.add,
    findLive(by) {
      if ('id' in by) return transactions.get(by.id)
      const nonce = lane.book.nonceOf(by.hash)
      const slot = nonce === undefined ? undefined : lane.book.get(nonce)
      const attempt = slot?.attempts.find(({ hash }) => hash === by.hash)
      return attempt?.claim === undefined ? undefined : transactions.get(attempt.claim)
    },
    // It is in the store, and the inbox admits it with the next arrivals.
    trackFromStore(transaction) {
      if (transaction.stage === 'queued') intake.trackFromStore(transaction)
    },
    async prefetchFees() {
      await raceAbort(Promise.all([fees.market(), seeding.settled()]), [session.closing]).catch(() => {})
    },
    async flushed(stages) {
      for (const one of stages ? transactions.values() : [])
        if (one.persistedStage !== one.stage) context.changed.add(one)
      lane.journal.touch()
      await lane.journal.flushed()
    },
    observe: (blockNumber, hashes) =>
      tracker.observe(blockNumber > 0 ? blockNumber : (tracker.head?.number ?? 0) + 1, hashes),
    async resolve(id, fate) {
      if (!parts.commands.resolve(id, fate)) throw invalid('id', id, 'the id of an unresolved transaction')
    },
    snapshot: async () => snapshotOf(core, sending, admitting, parts.reasons),
    health: () => healthOfLeader(context, intake.open),
    inFlight: () =>
      [...transactions.values()].filter(({ nonce }) => nonce !== undefined && isInFlight(lane.book, nonce)),
    async resync() {
      const { account } = await readLaneOn(endpointPool, lane.key.address, limits.readTimeoutMs)
      code.is(account)
      await raceAbort(tracker.nextTick(), [session.closing])
    },
    async drained() {
      try {
        // A caller waits, so the poller looks at every refresh, not once a block.
        await session.whileWaiting(() => raceAbort(parts.drains.add(), [closing.signal]))
        return true
      } catch (error) {
        if (session.closing.aborted) throw error
        return false
      }
    },
    refusal: intake.refusal,
    counts: bounds,
    get room() {
      return broadcaster.room - intake.open
    },
    get load() {
      return lane.book.cursor - lane.book.floor + intake.open
    },
    get holds() {
      return lane.holds.list()
    },
    get unreservedBalanceWei() {
      return funds.spareWei
    },
    requestBalance: funds.requestBalance,
    // The engine knows by itself what it has to send.
    give() {},
  }
}
