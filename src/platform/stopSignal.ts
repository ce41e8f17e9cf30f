import { onAbort } from './onAbort.js'

/** Ends a wait, with an error. */
export type StopSignal = {
  readonly stopped: () => boolean
  readonly listen: (stop: () => void) => () => void
  readonly error: () => Error
}

/** Settles like the promise, or rejects with the error of the first stop signal. The work behind the promise goes on. */
export function raceStop<T>(promise: Promise<T>, stops: readonly StopSignal[]): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const offs: (() => void)[] = []
    const off = () => {
      for (const remove of offs) remove()
    }
    for (const { stopped, listen, error } of stops) {
      const stop = () => {
        off()
        reject(error())
      }
      if (stopped()) stop()
      else offs.push(listen(stop))
    }
    promise.then(resolve, reject).finally(off)
  })
}

/** Runs work of several steps that must not go on after a stop: its abort signal says when it was stopped. */
export async function withStopSignal<T>(
  stop: Pick<StopSignal, 'listen'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const off = stop.listen(() => controller.abort())
  try {
    return await work(controller.signal)
  } finally {
    off()
  }
}

export function stopOfSignal(signal: AbortSignal | undefined, error: () => Error): StopSignal {
  return {
    stopped: () => signal?.aborted ?? false,
    listen: (stop) => (signal === undefined ? () => {} : onAbort(signal, stop)),
    error,
  }
}

/** Creates a stop signal without the cost of an AbortSignal. */
export function createStopSignal(error: () => Error): StopSignal & { stop(): void } {
  const listeners = new Set<() => void>()
  let stopped = false
  return {
    stopped: () => stopped,
    listen(stop) {
      listeners.add(stop)
      return () => listeners.delete(stop)
    },
    error,
    stop() {
      stopped = true
      for (const stop of [...listeners]) stop()
      listeners.clear()
    },
  }
}
