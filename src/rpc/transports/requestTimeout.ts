import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'

/** Ends a request early: by time, or by any of several signals. `done` must be called when it has ended. */
export type GiveUp = {
  /** Called once it is on its way: gives it up after so many milliseconds; 0 for never. */
  after(timeoutMs: number): void
  readonly signal: AbortSignal
  /** Rejects when it is given up: a `fetch` of the user's own may not look at the signal. */
  readonly ended: Promise<never>
  /** Why it was given up, if it was. */
  reason(): 'aborted' | 'timeout' | undefined
  done(): void
}

/** Those of one port. */
export type GiveUps = {
  begin(signals: readonly (AbortSignal | null | undefined)[]): GiveUp
  /** Nobody waits for an answer any more: what is under way is given up, and what comes. */
  close(): void
}

export function createGiveUps(clock: Clock): GiveUps {
  // Called by name: a signal of the port, listened to, would cost each request more than its own bookkeeping.
  const aborts = new Set<() => void>()
  let closed = false

  function begin(signals: readonly (AbortSignal | null | undefined)[]): GiveUp {
    // Made for who asks: it is dear.
    let controller: AbortController | undefined
    let reason: 'aborted' | 'timeout' | undefined
    let reject: (error: Error) => void
    const ended = new Promise<never>((_, onEnd) => {
      reject = onEnd
    })
    ended.catch(() => {})
    const end = (why: 'aborted' | 'timeout') => {
      if (reason !== undefined) return
      reason = why
      controller?.abort()
      reject(new Error(why))
    }
    const abort = () => end('aborted')
    const offs: (() => void)[] = [() => aborts.delete(abort)]
    aborts.add(abort)
    if (closed) abort()
    for (const signal of signals) {
      if (signal?.aborted) abort()
      else if (signal) offs.push(onAbort(signal, abort))
    }
    return {
      after(timeoutMs) {
        // A timer that never fires would still hold the process awake for its whole time: it is cancelled in `done`.
        if (timeoutMs > 0 && reason === undefined) offs.push(clock.setTimer(() => end('timeout'), timeoutMs))
      },
      get signal() {
        controller ??= new AbortController()
        if (reason !== undefined) controller.abort()
        return controller.signal
      },
      ended,
      reason: () => reason,
      done() {
        for (const off of offs) off()
      },
    }
  }

  return {
    begin,
    close() {
      closed = true
      for (const abort of [...aborts]) abort()
    },
  }
}
