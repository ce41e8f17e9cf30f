const listening = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `listener` once when the signal aborts, unless it is called off before. However many wait for one signal, it
 * has one listener from here: Node warns of a leak above ten, and a batch waits for one with thousands of items.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const listeners = listening.get(signal) ?? listen(signal)
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

function listen(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>()
  listening.set(signal, listeners)
  const abort = () => {
    listening.delete(signal)
    for (const listener of listeners) {
      // Called off by one before it.
      if (listeners.delete(listener)) listener()
    }
  }
  signal.addEventListener('abort', abort, { once: true })
  return listeners
}
