import { onAbort } from './onAbort.js'

/** Something that ends a wait, and the error to end it with. */
export type Stop = {
  readonly stopped: () => boolean
  readonly listen: (stop: () => void) => () => void
  readonly error: () => Error
}

/** The promise, or the error of the first that stops it. What the promise stands for goes on. */
export function unlessStopped<T>(promise: Promise<T>, stops: readonly Stop[]): Promise<T> {
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
export async function untilStopped<T>(
  stop: Pick<Stop, 'listen'>,
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

export function stopOfSignal(signal: AbortSignal | undefined, error: () => Error): Stop {
  return {
    stopped: () => signal?.aborted ?? false,
    listen: (stop) => (signal === undefined ? () => {} : onAbort(signal, stop)),
    error,
  }
}

/** A stop of one's own, without the cost of an AbortSignal. */
export function createStop(error: () => Error): Stop & { stop(): void } {
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
