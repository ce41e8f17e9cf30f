import type { SenderEvents } from '../types.js'

/** Typed events. A listener that throws harms neither the lane nor the other listeners. */
export type Emitter = {
  on<event extends keyof SenderEvents>(
    event: event,
    listener: (payload: SenderEvents[event]) => void,
  ): () => void
  emit<event extends keyof SenderEvents>(event: event, payload: SenderEvents[event]): void
  /** Whether anybody listens: what is costly to find out need not be found out for nobody. */
  heard(event: keyof SenderEvents): boolean
}

export function createEmitter(onThrow: (error: unknown) => void): Emitter {
  const listeners = new Map<keyof SenderEvents, Set<(payload: never) => void>>()
  return {
    on(event, listener) {
      const set = listeners.get(event) ?? new Set()
      listeners.set(event, set)
      // Wrapped, so that the same function may listen twice and be taken off once.
      const own = (payload: never) => listener(payload)
      set.add(own)
      return () => void set.delete(own)
    },
    emit(event, payload) {
      for (const listener of listeners.get(event) ?? []) {
        try {
          listener(payload as never)
        } catch (error) {
          onThrow(error)
        }
      }
    },
    heard: (event) => (listeners.get(event)?.size ?? 0) > 0,
  }
}
