import { type LaneKey, laneName, type Store } from '../store.js'
import { type ListenOptions, listen } from './listener.js'

export type Watchers = Pick<Store, 'watch'> & { stop(): void }

/** Listens while somebody watches, however many lanes, on one connection. */
export function createWatchers(options: Omit<ListenOptions, 'onNotice'>): Watchers {
  const byLane = new Map<string, Set<() => void>>()
  let hangUp: (() => void) | undefined

  function onNotice(name: string | undefined): void {
    const told = name === undefined ? [...byLane.values()] : [byLane.get(name) ?? []]
    // Copied, since a watcher may call itself off.
    for (const watcher of told.flatMap((watchers) => [...watchers])) watcher()
  }

  function forget(name: string, watcher: () => void): void {
    const watchers = byLane.get(name)
    watchers?.delete(watcher)
    if (watchers?.size === 0) byLane.delete(name)
    if (byLane.size > 0) return
    hangUp?.()
    hangUp = undefined
  }

  return {
    watch(lane: LaneKey, changed: () => void) {
      const name = laneName(lane)
      // Wrapped, so that the same function may watch twice.
      const own = () => changed()
      byLane.set(name, (byLane.get(name) ?? new Set()).add(own))
      hangUp ??= listen({ ...options, onNotice })
      return () => forget(name, own)
    },
    stop() {
      byLane.clear()
      hangUp?.()
      hangUp = undefined
    },
  }
}
