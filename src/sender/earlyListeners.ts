import { invalid } from '../errors/invalid.js'
import type { SenderEvents } from '../types.js'
import { eventNames } from './emitter.js'
import type { OpenLane } from './lane/open.js'

type Listener = (payload: never) => void
type Entry = {
  readonly event: keyof SenderEvents
  readonly listener: Listener
  off: (() => void) | undefined
}

export type EarlyListeners = ReturnType<typeof createEarlyListeners>

/** Listeners that were added before the lane is open hear of everything that comes after it is. */
export function createEarlyListeners() {
  const entries = new Set<Entry>()
  let lane: OpenLane | undefined

  function attachOne(entry: Entry): void {
    entry.off = lane?.handle.events.on(entry.event, entry.listener as (payload: unknown) => void)
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
    attach(opened: OpenLane): void {
      lane = opened
      for (const entry of entries) attachOne(entry)
      // The lane may have begun held, or with what waits for an operator's word, when nobody could hear it yet.
      const { events, transactions, txOf } = opened.handle
      const own = (name: keyof SenderEvents) =>
        [...entries].filter(({ event }) => event === name).map(({ listener }) => listener)
      for (const reason of opened.tenure.seat.holds) events.tell(own('held'), { reason })
      for (const transaction of transactions.values()) {
        if (!transaction.unresolved || transaction.nonce === undefined) continue
        events.tell(own('unresolved'), { nonce: transaction.nonce, tx: txOf(transaction) })
      }
    },
    /** Whoever listened has closed; the lane may go on for others. */
    detach(): void {
      for (const entry of entries) entry.off?.()
    },
  }
}
