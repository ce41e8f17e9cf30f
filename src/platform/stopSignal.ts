import { onAbort } from './onAbort.js'

/** Something that ends a wait, and the error to end it with. */
export type StopSignal = {
  readonly stopped: () => boolean
  readonly listen: (stop: () => void) => () => void
  readonly error: () => Error
}

/** The promise, or the error of the first that stops it. What the promise stands for goes on. */
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

/** Work of several steps that cannot be left to go on: its signal says when it has been stopped. */
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

/** A stop of one's own, without the cost of an AbortSignal. */
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
