import { backgroundClock, type CancelTimer, type Clock } from '../../platform/clock.js'
import { type LaneKey, laneName } from '../../types/store.js'
import type { Connection, Prepared } from './connection.js'
import type { Keys } from './keys.js'
import { laneRecord } from './leases.js'

export type Watchers = {
  watch(lane: LaneKey, changed: Changed): () => void
  /** What this connection committed: its own commits do not show in `data_version`. */
  tell(lanes: readonly LaneKey[]): void
  close(): void
}

type Changed = (sequence?: number) => void

type Watched = { readonly lane: LaneKey; readonly watchers: Set<Changed>; stamp: string | undefined }

const POLL_MS = 50

/** Asks the file now and then whether other connections wrote to it, while somebody watches. */
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
      // A hint is never a must: whoever watches reads from time to time anyway, and is told what is wrong then.
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
      if (stamp !== watched.stamp) tellAll(watched, sequence)
      watched.stamp = stamp
    }
  }

  /** Changes with all that a watcher could want to read. */
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
      // Wrapped, so that the same function may watch twice.
      const own: Changed = (sequence) => changed(sequence)
      watched.watchers.add(own)
      arm()
      return () => {
        watched.watchers.delete(own)
        if (watched.watchers.size === 0 && lanes.get(name) === watched) lanes.delete(name)
      }
    },
    tell(told) {
      for (const lane of told) {
        const watched = lanes.get(laneName(lane))
        if (watched) tellAll(watched)
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

/** In a turn of their own: what a watcher does, or throws, is not the matter of who wrote. */
function tellAll({ watchers }: Watched, sequence?: number): void {
  for (const watcher of watchers) {
    queueMicrotask(() => {
      if (watchers.has(watcher)) watcher(sequence)
    })
  }
}
