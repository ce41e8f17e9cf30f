import type { CancelTimer, Clock } from '../platform/clock.js'

/** Times at which something is due that is given the same length of time each: one timer for all of them. */
export type Deadlines<key> = {
  /** Due `afterMs` from now; what was set for the key before is forgotten. */
  set(key: key): void
  forget(key: key): void
  stop(): void
}

/** `due` may set the key again. */
export function createDeadlines<key>(options: {
  clock: Clock
  afterMs: number
  due: (key: key) => void
}): Deadlines<key> {
  const { clock, afterMs, due } = options
  // Equal lengths make the order of setting the order of falling due: the first one is always the next.
  const dueAtMs = new Map<key, number>()
  let cancel: CancelTimer | undefined

  function plan(): void {
    const [first] = dueAtMs.values()
    if (cancel !== undefined || first === undefined) return
    cancel = clock.setTimer(fire, Math.max(1, first - clock.now()))
  }

  function fire(): void {
    cancel = undefined
    const now = clock.now()
    for (const [key, atMs] of [...dueAtMs]) {
      if (atMs > now) break
      dueAtMs.delete(key)
      due(key)
    }
    plan()
  }

  return {
    set(key) {
      dueAtMs.delete(key)
      dueAtMs.set(key, clock.now() + afterMs)
      plan()
    },
    forget(key) {
      dueAtMs.delete(key)
      if (dueAtMs.size > 0) return
      cancel?.()
      cancel = undefined
    },
    stop() {
      dueAtMs.clear()
      cancel?.()
      cancel = undefined
    },
  }
}
