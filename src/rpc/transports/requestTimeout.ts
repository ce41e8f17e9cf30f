import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'

/**
 * Ends a request early, by timeout or by any of several signals. `done` must be called when the request has
 * ended.
 */
export type RequestTimeout = {
  /** Called after the request was sent: gives it up after `timeoutMs` milliseconds; 0 means never. */
  after(timeoutMs: number): void
  readonly signal: AbortSignal
  /** Rejects when the request is given up. Needed because a caller's own `fetch` may ignore the signal. */
  readonly ended: Promise<never>
  /** The reason why the request was given up, if it was. */
  reason(): 'aborted' | 'timeout' | undefined
  done(): void
}

/** The `RequestTimeout` objects of one port. */
export type RequestTimeouts = {
  begin(signals: readonly (AbortSignal | null | undefined)[]): RequestTimeout
  /** Gives up all open and future requests, when no caller waits for an answer any more. */
  close(): void
}

export function createRequestTimeouts(clock: Clock): RequestTimeouts {
  // Called directly: an event listener on a signal of the port would cost each request more than its own
  // bookkeeping.
  const aborts = new Set<() => void>()
  let closed = false

  function begin(signals: readonly (AbortSignal | null | undefined)[]): RequestTimeout {
    // Created on demand, because an AbortController is expensive.
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
        // `done` cancels the timer: otherwise it would keep the process alive for the whole timeout.
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
