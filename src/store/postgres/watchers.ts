import { type LaneKey, laneName, type Store } from '../../types/store.js'
import { type ListenOptions, listen } from './listener.js'

type Changed = (sequence?: number) => void

export type Watchers = Pick<Store, 'watch'> & { stop(): void }

/** Listens while somebody watches, however many lanes, on one connection. */
export function createWatchers(options: Omit<ListenOptions, 'onNotice'>): Watchers {
  const byLane = new Map<string, Set<Changed>>()
  let hangUp: (() => void) | undefined

  /** A lane's name, and its newest sequence where something was written: who knows that one need not look. */
  function onNotice(notice: string | undefined): void {
    const [name = '', sequence] = notice?.split(' ') ?? []
    const told = notice === undefined ? [...byLane.values()] : [byLane.get(name) ?? []]
    // Copied, since a watcher may call itself off.
    for (const watcher of told.flatMap((watchers) => [...watchers]))
      watcher(sequence === undefined ? undefined : Number(sequence))
  }

  function forget(name: string, watcher: Changed): void {
    const watchers = byLane.get(name)
    watchers?.delete(watcher)
    if (watchers?.size === 0) byLane.delete(name)
    if (byLane.size > 0) return
    hangUp?.()
    hangUp = undefined
  }

  return {
    watch(lane: LaneKey, changed: Changed) {
      const name = laneName(lane)
      // Wrapped, so that the same function may watch twice.
      const own: Changed = (sequence) => changed(sequence)
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
