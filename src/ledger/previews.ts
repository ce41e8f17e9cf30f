import type { SlotEvent } from './event.js'
import { NonceMap } from './nonceMap.js'
import type { Transition } from './result.js'

export type Journaled = Extract<SlotEvent, { type: 'journaled' }>

type Preview = { readonly event: Journaled; readonly result: Transition }

/** Transitions of `journaled` events that were computed before the commit, one per nonce. */
export type Previews = {
  keep(nonce: number, event: Journaled, result: Transition): void
  /**
   * The preview of this very event. The table is a pure function: the same slot and the same bytes give the
   * same result. Every other event for the nonce discards the preview.
   */
  take(nonce: number, event: SlotEvent): Transition | undefined
}

export function createPreviews(): Previews {
  const previews = new NonceMap<Preview>()
  return {
    keep(nonce, event, result) {
      previews.set(nonce, { event, result })
    },
    take(nonce, event) {
      const known = previews.get(nonce)
      if (known === undefined) return undefined
      previews.delete(nonce)
      if (event.type !== 'journaled') return undefined
      const { attempt, token } = known.event
      return attempt === event.attempt && token === event.token ? known.result : undefined
    },
  }
}
