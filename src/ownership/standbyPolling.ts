import type { Clock } from '../platform/clock.js'
import { createDoneWaiters } from '../platform/doneWaiters.js'
import { onAbort, raceAbort } from '../platform/onAbort.js'
import { createPoller } from '../platform/poller.js'
import { reportError } from '../platform/reportError.js'
import type { LaneCommand } from '../types/store.js'
import type { RemoteLane } from './remoteLane.js'
import { differencesOf, type OptionDifference } from './sharedOptions.js'
import type { StandbyOptions } from './standby.js'
import type { StandbyReader, StandbyRecords } from './standbyRecords.js'

/** How often the store is read without a hint: while the lane has work, and while it has none. */
const LOOK_MS = { busy: 1_000, idle: 30_000 } as const
/** In a burst each write of the owner is a hint. Events of this process may be later by this time. */
const REST_MS = 20
/** An owner that died has lost the lane after so long. */
const COMMAND_MS = 20_000

/** When a standby reads the store, and when it tries to become the owner. */
export type StandbyPolling = {
  pollNow(): void
  /** Posts a command for the owner. Resolves to false if the store does not know the transaction. */
  post(id: string, command: LaneCommand): Promise<boolean>
  /** Resolves to true when all transactions are in sealed blocks, and to false when this process became the owner. */
  drained(): Promise<boolean>
  /** A transaction left the lane. */
  left(): void
  readonly differences: readonly OptionDifference[]
  stop(): void
}

export function createStandbyPolling(
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

  /** While changes come in, some process owns the lane: this one does not try to take it with each of them. */
  function isOwnedLately(): boolean {
    if (clock.now() - askedAtMs < LOOK_MS.busy) return true
    askedAtMs = clock.now()
    return false
  }

  return {
    pollNow: poller.pollNow,
    async post(id, command) {
      const posted = await store.postCommand(session.key, id, command)
      commandedAtMs = clock.now()
      poller.pollNow()
      return posted
    },
    drained() {
      const looked = new Promise<void>((resolve) => void awaiting.push(resolve))
      poller.pollNow()
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
