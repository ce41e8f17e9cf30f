import type { SlotAction, SlotEvent } from './event.js'
import { fromOutcome, sentOnceMore, withAttempt } from './fromOutcome.js'
import { gaveUp } from './fromReserved.js'
import { speedUp, stuck } from './fromStuck.js'
import { ignored, noted, type Transition } from './result.js'
import { type Attempt, type Live, wantedClaim, withLast } from './slot.js'
import { slotWith } from './slotWith.js'
import { usedBy, usedByOther, usedUnproven } from './used.js'

/**
 * Rows that start from `live`: bytes are journaled, so the nonce stays bound until the chain decides (P2).
 */
export function fromLive(slot: Live, event: SlotEvent): Transition {
  switch (event.type) {
    case 'committing':
      return committing(slot, event)
    case 'journaled':
      return attempted(slotWith(slot, { committing: Math.max(0, slot.committing - 1) }), event.attempt)
    case 'commitUnknown':
      return { row: 5, slot, actions: [{ do: 'readAgain' }] }
    case 'notCommitted':
      return noted(slotWith(slot, { committing: Math.max(0, slot.committing - 1) }))
    case 'withdraw':
      return withdraw(slot, event)
    case 'outsideCommitted':
      return outsideCommitted(slot, event.attempt)
    case 'sent':
      return noted(slotWith(slot, { attempts: withAttempt(slot.attempts, event.hash, sentOnceMore) }))
    case 'outcome':
      return fromOutcome(slot, event)
    case 'stuck':
      return stuck(slot, event)
    case 'speedUp':
      return speedUp(slot, event)
    case 'cancel':
      return cancel(slot, event)
    case 'replace':
      return replace(slot, event)
    case 'preconfirmed':
      return preconfirmed(slot, event)
    case 'notPreconfirmed':
      if (slot.preconfirmed?.blockNumber !== event.blockNumber) return ignored(slot, event)
      return {
        row: 23,
        slot: slotWith(slot, { preconfirmed: undefined }),
        actions: [{ do: 'emit', event: 'reorged' }],
      }
    case 'sealed':
      return usedBy(24, slot, event)
    case 'evidence':
      return usedByOther(25, slot, event)
    case 'passed':
      return usedUnproven(slot)
    case 'executedElsewhere':
      return executedElsewhere(slot, event)
    default:
      return ignored(slot, event)
  }
}

/**
 * Only bytes that the slot wants now are journaled: after a cancel, for example, a bump of the claim that has
 * just been signed is discarded.
 */
function committing(slot: Live, event: Extract<SlotEvent, { type: 'committing' }>): Transition {
  if (event.token !== slot.token || event.claim !== wantedClaim(slot)) return ignored(slot, event)
  return { row: 4, slot: slotWith(slot, { committing: slot.committing + 1 }), actions: [] }
}

/**
 * The requested bytes are journaled. They count as sent no matter what has happened since the request (P2).
 * They are broadcast only if the slot still wants them.
 */
function attempted(slot: Live, attempt: Attempt): Transition {
  if (slot.attempts.some((other) => other.hash === attempt.hash)) return noted(slot)
  // The wanted attempt stays the newest one, because resends and bumps use the newest.
  if (attempt.claim !== wantedClaim(slot)) {
    return { row: 4, slot: slotWith(slot, { attempts: [attempt, ...slot.attempts] }), actions: [] }
  }
  const next: Live = slotWith(slot, { attempts: withLast(slot.attempts, attempt), resentSinceSigned: false })
  return { row: 4, slot: next, actions: [{ do: 'broadcast', hash: attempt.hash }] }
}

/**
 * Row 6 for a replacement of which nothing was journaled: the slot wants the replaced transaction again. The
 * replacement cannot be queued again: at another nonce it could land in addition to the transaction that it
 * replaces.
 */
function withdraw(slot: Live, event: Extract<SlotEvent, { type: 'withdraw' }>): Transition {
  const { claim, why } = event
  const replacement = slot.claims.indexOf(claim) > 0
  const journaled = slot.committing > 0 || slot.attempts.some((attempt) => attempt.claim === claim)
  if (!replacement || journaled || why === 'again' || slot.end !== undefined) return ignored(slot, event)
  const claims = slot.claims.filter((other) => other !== claim)
  return { row: 6, slot: slotWith(slot, { claims }), actions: [gaveUp(claim, why)] }
}

/**
 * Row 9, late: the nonce was voided in the meantime, or the outside code sent another version of its bytes.
 */
export function outsideCommitted(slot: Live, attempt: Attempt): Transition {
  if (slot.attempts.some((other) => other.hash === attempt.hash)) return noted(slot)
  const claims = slot.claims.length === 0 && attempt.claim !== undefined ? [attempt.claim] : slot.claims
  const next: Live = slotWith(slot, { claims })
  const newest = slot.end === undefined && attempt.claim === wantedClaim(next)
  const attempts = newest ? withLast(slot.attempts, attempt) : [attempt, ...slot.attempts]
  return { row: 9, slot: slotWith(next, { attempts }), actions: [] }
}

function cancel(slot: Live, event: Extract<SlotEvent, { type: 'cancel' }>): Transition {
  // A slot has one end: if it is void already, its claim ends as well.
  if (slot.end !== undefined) return ignored(slot, event)
  const { token } = event
  return { row: 21, slot: slotWith(slot, { end: 'cancel', token }), actions: [{ do: 'noop', token }] }
}

/**
 * Row 35. The claim's bytes may still land here, so a no-op uses up the nonce. A transaction that replaced
 * the claim on request ends with it, as the verdict determines.
 */
function executedElsewhere(slot: Live, event: Extract<SlotEvent, { type: 'executedElsewhere' }>): Transition {
  if (!slot.claims.includes(event.claim)) return ignored(slot, event)
  const claims = slot.claims.filter((claim) => claim !== event.claim)
  const { token } = event
  if (slot.end !== undefined)
    return { row: 35, slot: slotWith(slot, { claims, settledBefore: true }), actions: [] }
  return {
    row: 35,
    slot: slotWith(slot, { claims, end: 'void', token, settledBefore: true }),
    actions: [{ do: 'noop', token }],
  }
}

function replace(slot: Live, event: Extract<SlotEvent, { type: 'replace' }>): Transition {
  if (slot.end !== undefined || slot.claims.includes(event.claim)) return ignored(slot, event)
  const { claim, token } = event
  return {
    row: 22,
    slot: slotWith(slot, { claims: withLast(slot.claims, claim), token, refusals: 0 }),
    actions: [{ do: 'sign', claim, token }],
  }
}

function preconfirmed(slot: Live, event: Extract<SlotEvent, { type: 'preconfirmed' }>): Transition {
  const { hash, blockNumber } = event
  const { preconfirmed: seen, attempts } = slot
  const known = attempts.some((attempt) => attempt.hash === hash)
  if (!known || (seen?.hash === hash && seen.blockNumber === blockNumber)) return ignored(slot, event)
  const tell: SlotAction[] = seen?.hash === hash ? [] : [{ do: 'emit', event: 'preconfirmed' }]
  return {
    row: 23,
    slot: slotWith(slot, { preconfirmed: { hash, blockNumber }, displaced: false }),
    actions: tell,
  }
}
