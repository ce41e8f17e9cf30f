import { readBalances } from '../chain/endpoints/balances.js'
import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { Clock } from '../platform/clock.js'
import type { HoldReason, Limits } from '../types/index.js'
import type { LaneKey } from '../types/store.js'
import type { ReportedOptions } from './reportedOptions.js'
import type { Reports } from './reports.js'

/** What a process that does not hold the lane knows of it: from its holder's report, and from the chain. */
export type RemoteLane = {
  /** Options of the holder, where it has told them. */
  readonly options: ReportedOptions | undefined
  readonly holds: readonly HoldReason[]
  readonly room: number
  readonly load: number
  /** What of the balance is left beside all that the lane has to send; undefined where that is not known. */
  readonly spareWei: bigint | undefined
  /** True where more is being found out. */
  weigh(): boolean
  /** This process puts one into the lane that may cost so much. */
  give(costWei: bigint): void
  stop(): void
}

/** For so long a reading is as good as a new one. */
const FRESH_MS = 1_000
/** An answer counts for whoever asked for it, however long it took; for so long it is one. */
const ANSWER_MS = 30_000
/** A holder that has said nothing for so long says nothing: it is one of a former version, or of no pool. */
const SILENT_MS = 3_000

export function createRemoteLane(parts: {
  readonly key: LaneKey
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly reports: Reports
  /** How many unfinished transactions of the lane this process knows. */
  readonly open: () => number
}): RemoteLane {
  const { key, endpointPool, clock, limits, reports, open } = parts
  const followed = reports.follow(key)
  let balanceWei: bigint | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  let isReading = false
  let isAnswered = false
  // Since when the lane has a holder that has said nothing yet.
  let silentAtMs: number | undefined

  /** What all that the lane has to send may cost, where it takes more. */
  function owedWei(): bigint | undefined {
    const { isHeld, report } = followed
    if (isHeld) return report?.owedWei
    // Nobody has it: this process takes it as soon as there is work.
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
    // Whoever asked looks again with the next tick.
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
    weigh() {
      if (isReading) return true
      const now = clock.now()
      // It may have taken the lane a moment ago.
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
