import type { Clock } from '../../clock.js'

/** Ends a request early: by time, or by any of several signals. `done` must be called when it has ended. */
export type GiveUp = {
  readonly signal: AbortSignal
  /** Rejects when it is given up: a `fetch` of the user's own may not look at the signal. */
  readonly ended: Promise<never>
  /** Why it was given up, if it was. */
  reason(): 'aborted' | 'timeout' | undefined
  done(): void
}

export function createGiveUp(
  clock: Clock,
  timeoutMs: number,
  signals: readonly (AbortSignal | null | undefined)[],
): GiveUp {
  const controller = new AbortController()
  let reason: 'aborted' | 'timeout' | undefined
  let reject: (error: Error) => void
  const ended = new Promise<never>((_, onEnd) => {
    reject = onEnd
  })
  ended.catch(() => {})
  const end = (why: 'aborted' | 'timeout') => {
    if (reason !== undefined) return
    reason = why
    controller.abort()
    reject(new Error(why))
  }
  const onAbort = () => end('aborted')
  for (const signal of signals) {
    if (signal?.aborted) onAbort()
    else if (signal) listenersOf(signal).add(onAbort)
  }
  // A timer that never fires would still hold the process awake for its whole time: it is cancelled in `done`.
  const cancelTimer =
    timeoutMs > 0 && reason === undefined ? clock.setTimer(() => end('timeout'), timeoutMs) : undefined
  return {
    signal: controller.signal,
    ended,
    reason: () => reason,
    done() {
      cancelTimer?.()
      for (const signal of signals) if (signal) listenersOf(signal).delete(onAbort)
    },
  }
}

const fans = new WeakMap<AbortSignal, Set<() => void>>()

/** One listener a signal, however many requests are open: Node warns of a leak from the eleventh on. */
function listenersOf(signal: AbortSignal): Set<() => void> {
  const known = fans.get(signal)
  if (known) return known
  const listeners = new Set<() => void>()
  fans.set(signal, listeners)
  signal.addEventListener('abort', () => {
    for (const listener of [...listeners]) listener()
  })
  return listeners
}
