import type { SlotAction, SlotEvent } from './event.js'
import { live } from './fromFree.js'
import type { Reserved, Slot } from './slot.js'
import { ignored, type Transition } from './transition.js'
import { whose } from './used.js'

/** Rows that leave `reserved`: bound to a transaction, with nothing journaled for it. */
export function fromReserved(slot: Reserved, event: SlotEvent): Transition {
  const { nonce, attempts, claim } = slot
  switch (event.type) {
    case 'journaled': {
      // Bytes under a stale token are thrown away before they are journaled (P1); this is the second line.
      if (event.token !== slot.token) return ignored(slot, event)
      const { attempt } = event
      const next: Slot = { ...live(nonce, slot.token), claims: [claim], attempts: [...attempts, attempt] }
      return { row: 4, slot: next, actions: [{ do: 'broadcast', hash: attempt.hash }] }
    }
    case 'commitUnknown':
      if (event.token !== slot.token) return ignored(slot, event)
      return { row: 5, slot, actions: [{ do: 'readAgain' }] }
    case 'withdraw':
      if (event.claim !== claim) return ignored(slot, event)
      return { row: 6, slot: { state: 'hole', nonce, attempts }, actions: [gaveUp(claim, event.why)] }
    case 'evidence':
    case 'sealed': {
      const by = event.type === 'sealed' ? whose(slot, event.hash) : { kind: 'other' as const, hash: event.hash }
      const next: Slot = {
        state: 'used',
        nonce,
        attempts,
        claims: [],
        end: undefined,
        by,
        at: event.block,
        settled: false,
      }
      return { row: 7, slot: next, actions: [{ do: 'tell', event: 'foreign' }, { do: 'queueAgain', claim }] }
    }
    default:
      return ignored(slot, event)
  }
}

/** What becomes of a claim for which nothing was journaled. */
export function gaveUp(claim: string, why: 'failed' | 'again'): SlotAction {
  return why === 'again' ? { do: 'queueAgain', claim } : { do: 'end', claim, as: 'withdrawn' }
}
