import type { Hash } from 'viem'
import { readLaneOn } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { createDoneWaiters } from '../../platform/doneWaiters.js'
import { raceAbort } from '../../platform/onAbort.js'
import type { HoldReason, LaneSnapshot, SendOptions, TxRequest } from '../../types/index.js'
import type { GroupCounts } from '../queue/groups.js'
import type { AdmissionTarget, Caller } from '../transaction/caller.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Core } from './core.js'
import type { EngineOptions } from './engineTypes.js'
import { healthOfLeader, type LaneHealth } from './health.js'
import type { RemoteCommands } from './operations.js'
import type { Admitting, Sending } from './parts.js'
import { isInFlight, snapshotOf } from './snapshot.js'
import type { WaitReasons } from './waitReasons.js'

/**
 * Serves the lane in this process: as its leader, or as a standby, which posts commands for the leader and reads their results
 * from the store.
 */
export type LaneWorker = {
  /** Calls back once the transaction is in the store. */
  add(request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void
  /** The transaction as this process knows it, which may be newer than its record in the store. */
  findLive(by: { id: string } | { hash: Hash }): Transaction | undefined
  /**
   * A caller of this process has a transaction that was read from the store. It is read once more, because no event was
   * emitted for a change between that read and now.
   */
  trackFromStore(transaction: Transaction): void
  /** Reads in advance the prices that the first transaction needs. Never rejects: a failed read is repeated later. */
  prefetchFees(): Promise<void>
  /** Resolves when the store has the state of this process, including stages that no other process waits for. */
  flushed(stages: boolean): Promise<void>
  /** Another feed saw these transactions pre-confirmed; block 0 means the pending block. */
  observe(blockNumber: number, hashes: readonly Hash[]): void
  /** An operator decides the fate of an unresolved transaction. */
  resolve(id: string, fate: 'executed' | 'notExecuted'): Promise<void>
  snapshot(): Promise<LaneSnapshot>
  /** The health, from memory alone. */
  health(): LaneHealth
  /** The transactions at nonces that are in flight. */
  inFlight(): readonly Transaction[]
  /** Described in `Sender`. */
  resync(): Promise<void>
  /** Resolves to true once nothing is queued, all is sealed and no gap is left; to false if the lane changes its owner before. */
  drained(): Promise<boolean>
  /** The error for this number of further transactions of a group, one by default; undefined if they are admitted. */
  refusal(group: string | undefined, more?: number): TxlaneError | undefined
  readonly counts: GroupCounts
  /** How many further transactions it could send now; negative by the number of waiting ones. */
  readonly room: number
  /** How many transactions are in flight or wait for a nonce. */
  readonly load: number
  readonly holds: readonly HoldReason[]
  /** The balance minus the cost of everything that the lane has to send, in wei; undefined while it is not known. */
  readonly unreservedBalanceWei: bigint | undefined
  /** Returns true if that may be out of date, and reads the balance again. */
  requestBalance(): boolean
  /** Another lane of this process is about to hand over a transaction of this cost. */
  give(costWei: bigint): void
}

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
  const { bounds, broadcaster, code, dependencies, finalityIndex, funds, seeding } = sending
  const { intake } = admitting

  return {
    add: intake.add,
    findLive(by) {
      if ('id' in by) return transactions.get(by.id) ?? finalityIndex.live(by.id)
      const nonce = lane.book.nonceOf(by.hash)
      const slot = nonce === undefined ? undefined : lane.book.get(nonce)
      const attempt = slot?.attempts.find(({ hash }) => hash === by.hash)
      return attempt?.claim === undefined ? undefined : transactions.get(attempt.claim)
    },
    // If it is queued, it is in the store, and the inbox admits it with the next arrivals.
    trackFromStore(transaction) {
      if (transaction.stage === 'queued') intake.trackFromStore(transaction)
      else finalityIndex.adopt(transaction)
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
      const [{ account }] = await Promise.all([
        readLaneOn(endpointPool, lane.key.address, limits.readTimeoutMs, true),
        dependencies.effects.look(),
      ])
      code.is(account)
      await session.whileCounting(() => raceAbort(tracker.nextTick(), [session.closing]))
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
