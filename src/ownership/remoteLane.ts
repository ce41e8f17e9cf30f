import { readBalances } from '../chain/endpoints/balances.js'
import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { Clock } from '../platform/clock.js'
import type { HoldReason, Limits } from '../types/index.js'
import type { LaneKey } from '../types/store.js'
import type { Reports } from './reports.js'
import type { ReportedOptions } from './sharedOptions.js'

/** The state of a lane as a standby knows it: from the report of its owner, and from the chain. */
export type RemoteLane = {
  /** The options of the owner, if it has reported them. */
  readonly options: ReportedOptions | undefined
  readonly holds: readonly HoldReason[]
  readonly room: number
  readonly load: number
  /** The balance minus the cost of everything that the lane has to send, in wei; undefined while it is not known. */
  readonly spareWei: bigint | undefined
  /** Returns true if the balance is being read. */
  requestBalance(): boolean
  /** This process adds a transaction of this cost to the lane. */
  give(costWei: bigint): void
  stop(): void
}

/** A read is not repeated within this time. */
const FRESH_MS = 1_000
/** An answer is used for this time, however long it took. */
const ANSWER_MS = 30_000
/** An owner without a report for this time does not report: it has a former version, or no pool. */
const SILENT_MS = 3_000

export function createRemoteLane(parts: {
  readonly key: LaneKey
  readonly endpointPool: Pick<EndpointPool, 'reader' | 'tracker'>
  readonly clock: Clock
  readonly limits: Limits
  readonly reports: Reports
  /** The number of unfinished transactions of the lane that this process knows. */
  readonly open: () => number
}): RemoteLane {
  const { key, endpointPool, clock, limits, reports, open } = parts
  const followed = reports.follow(key)
  let balanceWei: bigint | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  let isReading = false
  let isAnswered = false
  // The time since which the lane has an owner without a report.
  let silentAtMs: number | undefined

  /** The cost of everything that the lane has to send, if the lane accepts more. */
  function owedWei(): bigint | undefined {
    const { isHeld, report } = followed
    if (isHeld) return report?.owedWei
    // No process owns the lane: this one takes it as soon as there is work.
    return isHeld === false && open() === 0 ? 0n : undefined
  }

  async function read(): Promise<void> {
    isReading = true
    const { readTimeoutMs: timeoutMs } = limits
    const [[wei]] = await Promise.all([
      readBalances(endpointPool.reader.port, [key.address], { timeoutMs }),
      reports.fresh(FRESH_MS),
    ])
    balanceWei = wei ?? balanceWei
    readAtMs = clock.now()
    silentAtMs = followed.isHeld && followed.report === undefined ? (silentAtMs ?? readAtMs) : undefined
    isReading = false
    isAnswered = true
    // The caller looks again with the next tick.
    endpointPool.tracker.wake()
  }

  return {
    get options() {
      return followed.isHeld ? followed.report?.options : undefined
    },
    get holds() {
      return followed.isHeld ? (followed.report?.holds ?? []) : []
    },
    get room() {
      const own = limits.window - open()
      const { isHeld, report, given } = followed
      return isHeld && report?.room !== undefined ? report.room - given.count : own
    },
    get load() {
      const { isHeld, report, given } = followed
      return isHeld && report?.load !== undefined ? report.load + given.count : open()
    },
    get spareWei() {
      const owed = owedWei()
      return owed === undefined || balanceWei === undefined
        ? undefined
        : balanceWei - owed - followed.given.costWei
    },
    requestBalance() {
      if (isReading) return true
      const now = clock.now()
      // The owner may have taken the lane a moment ago.
      const isAwaited = silentAtMs !== undefined && now - silentAtMs < SILENT_MS
      const isAnswer = isAnswered && now - readAtMs < ANSWER_MS
      isAnswered = false
      if (isAnswer || now - readAtMs < FRESH_MS) return isAwaited
      void read()
      return true
    },
    give: followed.give,
    stop: followed.stop,
  }
}
