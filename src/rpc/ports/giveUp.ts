import type { Clock } from '../../clock.js'
import { onAbort } from '../../onAbort.js'

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
  const abort = () => end('aborted')
  const offs: (() => void)[] = []
  for (const signal of signals) {
    if (signal?.aborted) abort()
    else if (signal) offs.push(onAbort(signal, abort))
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
      for (const off of offs) off()
    },
  }
}
