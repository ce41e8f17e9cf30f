type Listening = { readonly listeners: Set<() => void>; readonly stop: () => void }

const signals = new WeakMap<AbortSignal, Listening>()

/**
 * Calls `listener` once when the signal aborts, unless it is called off before. However many wait for one signal, it
 * has one listener from here: Node warns of a leak above ten, and a batch waits for one with thousands of items.
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
      // Unless one before it has called it off.
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
