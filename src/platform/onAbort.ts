type Listening = { readonly listeners: Set<() => void>; readonly stop: () => void }

const signals = new WeakMap<AbortSignal, Listening>()

/**
 * Calls `listener` once when the signal aborts. The returned function removes the listener. All listeners of
 * one signal share one event listener: Node warns of a leak above ten, and a batch adds thousands of
 * listeners to one signal.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { listeners, stop } = signals.get(signal) ?? listen(signal)
  listeners.add(listener)
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) stop()
  }
}

function listen(signal: AbortSignal): Listening {
  const listeners = new Set<() => void>()
  const abort = () => {
    stop()
    for (const listener of listeners) {
      // An earlier listener may have removed this one.
      if (listeners.delete(listener)) listener()
    }
  }
  const stop = () => {
    signal.removeEventListener('abort', abort)
    if (signals.get(signal) === listening) signals.delete(signal)
  }
  const listening = { listeners, stop }
  signals.set(signal, listening)
  signal.addEventListener('abort', abort)
  return listening
}

/**
 * Settles like the promise, or rejects once one of the signals is aborted: with the reason of that signal, or with the
 * error of `errorOf`. The work behind the promise continues.
 */
export function raceAbort<T>(
  promise: Promise<T>,
  signals: readonly (AbortSignal | undefined)[],
  errorOf: (signal: AbortSignal) => unknown = ({ reason }) => reason,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const offs: (() => void)[] = []
    const off = () => {
      for (const remove of offs) remove()
    }
    for (const signal of signals) {
      if (signal === undefined) continue
      const abort = () => {
        off()
        reject(errorOf(signal))
      }
      if (signal.aborted) {
        abort()
        break
      }
      offs.push(onAbort(signal, abort))
    }
    promise.then(resolve, reject).finally(off)
  })
}
