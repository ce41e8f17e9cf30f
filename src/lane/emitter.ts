import type { LaneEvents, OfLane } from '../types/events.js'
import type { SenderEvents } from '../types/index.js'

const NAMES: Readonly<Record<keyof SenderEvents, true>> = {
  queued: true,
  signed: true,
  accepted: true,
  preconfirmed: true,
  sealed: true,
  reverted: true,
  failed: true,
  cancelled: true,
  superseded: true,
  replaced: true,
  reordered: true,
  waiting: true,
  rebroadcast: true,
  stuck: true,
  feeCeiling: true,
  foreign: true,
  displaced: true,
  unresolved: true,
  gap: true,
  gapFilled: true,
  reorged: true,
  deepReorg: true,
  corrected: true,
  rebound: true,
  held: true,
  released: true,
  endpoint: true,
  leaseGained: true,
  leaseLost: true,
  error: true,
}

/** The names of all events. */
export const eventNames = Object.keys(NAMES) as readonly (keyof SenderEvents)[]

/** Typed events. A listener that throws harms neither the lane nor the other listeners. */
export type Emitter<events extends object = LaneEvents, common extends object = OfLane> = {
  on<event extends keyof events>(
    event: event,
    listener: (payload: events[event] & common) => void,
  ): () => void
  emit<event extends keyof events>(event: event, payload: events[event]): void
  /** Emits to these listeners alone. */
  emitTo(these: Iterable<(payload: never) => void>, payload: object): void
  /** Whether the event has a listener. Without one a costly payload is not computed. */
  heard(event: keyof events): boolean
}

/** `common`: the fields that each payload has in addition to its own. */
export function createEmitter<events extends object = LaneEvents, common extends object = OfLane>(
  common: common,
  onThrow: (error: unknown) => void,
): Emitter<events, common> {
  const listeners = new Map<keyof events, Set<(payload: never) => void>>()

  function emitTo(these: Iterable<(payload: never) => void>, own: object): void {
    const payload = { ...own, ...common }
    for (const listener of these) {
      try {
        listener(payload as never)
      } catch (error) {
        onThrow(error)
      }
    }
  }

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
      const these = listeners.get(event)
      if (these?.size) emitTo(these, payload as object)
    },
    emitTo,
    heard: (event) => (listeners.get(event)?.size ?? 0) > 0,
  }
}
