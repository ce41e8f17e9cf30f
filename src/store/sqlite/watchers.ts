import { backgroundClock, type CancelTimer, type Clock } from '../../platform/clock.js'
import { type LaneKey, laneName } from '../../types/store.js'
import type { Connection, Prepared } from './connection.js'
import type { Keys } from './keys.js'
import { laneRecord } from './leases.js'

export type Watchers = {
  watch(lane: LaneKey, changed: Changed): () => void
  /** Notifies watchers of commits of this connection, because `data_version` does not show them. */
  notify(lanes: readonly LaneKey[]): void
  close(): void
}

type Changed = (sequence?: number) => void

type Watched = { readonly lane: LaneKey; readonly watchers: Set<Changed>; stamp: string | undefined }

const POLL_MS = 50

/** Polls the file for writes of other connections while a lane is watched. */
export function createWatchers(
  connection: Pick<Connection, 'read'>,
  keys: Keys,
  clock: Clock = backgroundClock,
): Watchers {
  const lanes = new Map<string, Watched>()
  let version: number | undefined
  let timer: CancelTimer | undefined
  let closed = false

  function arm(): void {
    if (timer !== undefined || closed || lanes.size === 0) return
    timer = clock.setTimer(() => void poll(), POLL_MS)
  }

  async function poll(): Promise<void> {
    try {
      await connection.read(look)
    } catch {
      // Hints may be missed. Watchers read from time to time anyway, and get the error then.
    }
    timer = undefined
    arm()
  }

  function look(prepared: Prepared): void {
    const before = version
    version = (prepared.dataVersion.get() as { data_version: number }).data_version
    for (const watched of lanes.values()) {
      if (version === before && watched.stamp !== undefined) continue
      const { stamp, sequence } = stampOf(prepared, watched.lane)
      if (stamp !== watched.stamp) notifyAll(watched, sequence)
      watched.stamp = stamp
    }
  }

  /** A value that changes with everything that a watcher might want to read. */
  function stampOf(prepared: Prepared, lane: LaneKey): { stamp: string; sequence: number } {
    const row = keys.findLane(prepared, lane)
    if (row === undefined) return { stamp: '', sequence: 0 }
    const { revision, sequence, epoch, holder } = laneRecord(prepared, row.lane)
    return { stamp: `${revision}/${sequence}/${epoch}/${holder === null}`, sequence }
  }

  return {
    watch(lane, changed) {
      const name = laneName(lane)
      const watched = lanes.get(name) ?? { lane, watchers: new Set(), stamp: undefined }
      lanes.set(name, watched)
      // Wrapped, so that the same function can be registered twice.
      const own: Changed = (sequence) => changed(sequence)
      watched.watchers.add(own)
      arm()
      return () => {
        watched.watchers.delete(own)
        if (watched.watchers.size === 0 && lanes.get(name) === watched) lanes.delete(name)
      }
    },
    notify(reported) {
      for (const lane of reported) {
        const watched = lanes.get(laneName(lane))
        if (watched) notifyAll(watched)
      }
    },
    close() {
      closed = true
      timer?.()
      timer = undefined
      lanes.clear()
    },
  }
}

/** Runs in a turn of its own, so that a watcher's work and errors do not affect the writer. */
function notifyAll({ watchers }: Watched, sequence?: number): void {
  for (const watcher of watchers) {
    queueMicrotask(() => {
      if (watchers.has(watcher)) watcher(sequence)
    })
  }
}
