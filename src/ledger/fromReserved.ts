import type { SlotAction, SlotEvent } from './event.js'
import { live } from './fromFree.js'
import { ignored, noted, type Transition } from './result.js'
import { type Reserved, withNewest } from './slot.js'
import { slotWith } from './slotWith.js'
import { toldOf, used, whose } from './used.js'

/** Rows that leave `reserved`: bound to a transaction, with nothing journaled for it. */
export function fromReserved(slot: Reserved, event: SlotEvent): Transition {
  const { nonce, attempts, claim } = slot
  switch (event.type) {
    case 'committing':
      if (event.token !== slot.token || event.claim !== claim) return ignored(slot, event)
      return { row: 4, slot: slotWith(slot, { committing: slot.committing + 1 }), actions: [] }
    case 'journaled': {
      // Bytes under a stale token are discarded before they are journaled (P1). This check is the second line
      // of defence.
      if (event.token !== slot.token) return ignored(slot, event)
      const { attempt } = event
      const committing = Math.max(0, slot.committing - 1)
      const next = live(nonce, slot.token, {
        claims: [claim],
        attempts: withNewest(attempts, attempt),
        committing,
      })
      return { row: 4, slot: next, actions: [{ do: 'broadcast', hash: attempt.hash }] }
    }
    case 'commitUnknown':
      if (event.token !== slot.token) return ignored(slot, event)
      return { row: 5, slot, actions: [{ do: 'readAgain' }] }
    case 'notCommitted':
      return noted(slotWith(slot, { committing: Math.max(0, slot.committing - 1) }))
    case 'withdraw':
      if (event.claim !== claim || slot.committing > 0) return ignored(slot, event)
      return { row: 6, slot: { state: 'hole', nonce, attempts }, actions: [gaveUp(claim, event.why)] }
    case 'cancel': {
      // With nothing handed to the store yet, the claim is withdrawn instead (row 6).
      if (slot.committing === 0) return ignored(slot, event)
      // The claim's bytes may be in the store already: a no-op uses up the nonce, whether or not the commit
      // succeeds.
      const { token } = event
      const { committing } = slot
      const next = live(nonce, token, { claims: [claim], attempts, end: 'cancel', committing })
      return { row: 21, slot: next, actions: [{ do: 'noop', token }] }
    }
    case 'executedElsewhere': {
      if (event.claim !== claim) return ignored(slot, event)
      if (slot.committing === 0) return { row: 35, slot: { state: 'hole', nonce, attempts }, actions: [] }
      // The claim's bytes may be in the store already, so another process may send them.
      const { token } = event
      const { committing } = slot
      const next = live(nonce, token, { attempts, end: 'void', committing, settledBefore: true })
      return { row: 35, slot: next, actions: [{ do: 'noop', token }] }
    }
    case 'evidence':
    case 'sealed': {
      // A commit under way may still journal bytes of the claim: if the claim were queued again now, it could
      // land twice (P4).
      if (slot.committing > 0) return ignored(slot, event)
      const again: SlotAction = { do: 'queueAgain', claim }
      if (event.type === 'evidence') {
        const by = { kind: 'other' as const, hash: event.hash }
        return { row: 7, slot: used(slot, by, event.block), actions: [...toldOf(event), again] }
      }
      const by = whose(slot, event.hash)
      const told: SlotAction = { do: 'emit', event: by.kind === 'noop' ? 'sealed' : 'foreign' }
      return { row: 7, slot: used(slot, by, event.block), actions: [told, again] }
    }
    default:
      return ignored(slot, event)
  }
}

/** The action for a claim of which nothing was journaled. */
export function gaveUp(claim: string, why: 'failed' | 'again'): SlotAction {
  return why === 'again' ? { do: 'queueAgain', claim } : { do: 'end', claim, as: 'withdrawn' }
}
