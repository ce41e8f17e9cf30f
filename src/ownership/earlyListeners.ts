import { invalid } from '../errors/invalid.js'
import { type Emitter, eventNames } from '../lane/emitter.js'
import type { SenderEvents } from '../types/index.js'
import type { OpenLane } from './open.js'

type Listener = (payload: never) => void
type Entry = {
  readonly event: keyof SenderEvents
  readonly listener: Listener
  off: (() => void) | undefined
}

export type EarlyListeners = ReturnType<typeof createEarlyListeners>

/**
 * Listeners that were added before the lane is open. The sender that opens the lane gets every event from the first moment
 * on; a sender that joins an open lane gets the later events.
 */
export function createEarlyListeners() {
  const entries = new Set<Entry>()
  let events: Emitter | undefined
  let opening: ReturnType<typeof recordOpening> | undefined

  function attachOne(entry: Entry): void {
    entry.off = events?.on(entry.event, entry.listener as (payload: unknown) => void)
  }

  function listenTo(next: Emitter): void {
    for (const entry of entries) entry.off?.()
    events = next
    for (const entry of entries) attachOne(entry)
  }

  return {
    on(event: keyof SenderEvents, listener: Listener): () => void {
      if (!eventNames.includes(event)) throw invalid('event', event, `one of ${eventNames.join(', ')}`)
      if (typeof listener !== 'function') throw invalid('listener', listener, 'a function')
      const entry: Entry = { event, listener, off: undefined }
      entries.add(entry)
      attachOne(entry)
      return () => {
        entries.delete(entry)
        entry.off?.()
      }
    },
    /** This sender begins to open the lane. It is called again for each new try. */
    begin(next: Emitter): void {
      opening = recordOpening(next)
      listenTo(next)
    },
    /** The holds that were emitted while the lane is being opened. */
    get heard(): ReadonlySet<string> {
      return new Set(opening?.holds)
    },
    attach({ session, ownership }: Pick<OpenLane, 'ownership' | 'session'>): void {
      const { transactions, txOf } = session
      const emitted = opening?.events === session.events ? opening : undefined
      opening = undefined
      emitted?.stop()
      if (emitted === undefined) listenTo(session.events)
      // The lane may have begun with holds, or with unresolved transactions, before any listener was attached.
      const own = (name: keyof SenderEvents) =>
        [...entries].filter(({ event }) => event === name).map(({ listener }) => listener)
      for (const reason of ownership.worker.holds)
        if (!emitted?.holds.has(reason)) session.events.emitTo(own('held'), { reason })
      for (const transaction of transactions.values()) {
        const { unresolved, nonce } = transaction
        if (!unresolved || nonce === undefined || emitted?.unresolved.has(nonce)) continue
        session.events.emitTo(own('unresolved'), { nonce, tx: txOf(transaction) })
      }
    },
    /** The sender has closed; the lane may go on for others. */
    detach(): void {
      for (const entry of entries) entry.off?.()
    },
  }
}

/** A call of `resume()` before the lane was open: it lifts the holds that were emitted by then. */
export function resumeOpened({ ownership }: Pick<OpenLane, 'ownership'>, heard: ReadonlySet<string>): void {
  const holds = [...ownership.worker.holds].filter((reason) => reason !== 'paused')
  if (holds.length > 0 && holds.every((reason) => heard.has(reason))) ownership.resume()
  else ownership.unpause()
}

/** The events of a lane while it was opened. They are not emitted again when it is open. */
function recordOpening(events: Emitter) {
  const holds = new Set<string>()
  const unresolved = new Set<number>()
  const offs = [
    events.on('held', ({ reason }) => void holds.add(reason)),
    events.on('released', ({ reason }) => void holds.delete(reason)),
    events.on('unresolved', ({ nonce }) => void unresolved.add(nonce)),
  ]
  return {
    events,
    holds,
    unresolved,
    stop(): void {
      for (const off of offs) off()
    },
  }
}
