import type { SlotAction, SlotEvent } from './event.js'
import { fromOutcome, sentOnceMore, withAttempt } from './fromOutcome.js'
import { gaveUp } from './fromReserved.js'
import { speedUp, stuck } from './fromStuck.js'
import { ignored, noted, type Transition } from './result.js'
import { type Attempt, type Live, wantedClaim, withLast } from './slot.js'
import { slotWith } from './slotWith.js'
import { usedBy, usedByOther, usedUnproven } from './used.js'

/** Rows that start from `live`: bytes are journaled, so the nonce stays bound until the chain speaks (P2). */
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
        actions: [{ do: 'tell', event: 'reorged' }],
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

/** Only what is wanted now is journaled: after a cancel, say, a bump of the claim that is just signed is dropped. */
function committing(slot: Live, event: Extract<SlotEvent, { type: 'committing' }>): Transition {
  if (event.token !== slot.token || event.claim !== wantedClaim(slot)) return ignored(slot, event)
  return { row: 4, slot: slotWith(slot, { committing: slot.committing + 1 }), actions: [] }
}

/**
 * The bytes that an action asked for are journaled. They count as sent whatever has happened meanwhile (P2); they
 * are broadcast only where they are still what the slot wants.
 */
function attempted(slot: Live, attempt: Attempt): Transition {
  if (slot.attempts.some((other) => other.hash === attempt.hash)) return noted(slot)
  // What is wanted stays the newest, which is the one that resending and bumping go by.
  if (attempt.claim !== wantedClaim(slot)) {
    return { row: 4, slot: slotWith(slot, { attempts: [attempt, ...slot.attempts] }), actions: [] }
  }
  const next: Live = slotWith(slot, { attempts: withLast(slot.attempts, attempt), nudged: false })
  return { row: 4, slot: next, actions: [{ do: 'broadcast', hash: attempt.hash }] }
}

/**
 * Row 6 for a replacement of which nothing was journaled: what it replaced is wanted again. It cannot be queued
 * again, since at another nonce it could land beside what it replaces.
 */
function withdraw(slot: Live, event: Extract<SlotEvent, { type: 'withdraw' }>): Transition {
  const { claim, why } = event
  const replacement = slot.claims.indexOf(claim) > 0
  const journaled = slot.committing > 0 || slot.attempts.some((attempt) => attempt.claim === claim)
  if (!replacement || journaled || why === 'again' || slot.end !== undefined) return ignored(slot, event)
  const claims = slot.claims.filter((other) => other !== claim)
  return { row: 6, slot: slotWith(slot, { claims }), actions: [gaveUp(claim, why)] }
}

/** Row 9, late: the nonce was voided meanwhile, or the outside code sent another version of its bytes. */
export function outsideCommitted(slot: Live, attempt: Attempt): Transition {
  if (slot.attempts.some((other) => other.hash === attempt.hash)) return noted(slot)
  const claims = slot.claims.length === 0 && attempt.claim !== undefined ? [attempt.claim] : slot.claims
  const next: Live = slotWith(slot, { claims })
  const newest = slot.end === undefined && attempt.claim === wantedClaim(next)
  const attempts = newest ? withLast(slot.attempts, attempt) : [attempt, ...slot.attempts]
  return { row: 9, slot: slotWith(next, { attempts }), actions: [] }
}

function cancel(slot: Live, event: Extract<SlotEvent, { type: 'cancel' }>): Transition {
  // A slot has one end: one that is void already ends its claim as well.
  if (slot.end !== undefined) return ignored(slot, event)
  const { token } = event
  return { row: 21, slot: slotWith(slot, { end: 'cancel', token }), actions: [{ do: 'noop', token }] }
}

/**
 * Row 35. Its bytes may still land here, so the nonce is used up by a no-op. What replaced the claim on request ends
 * with it, as the verdict says.
 */
function executedElsewhere(slot: Live, event: Extract<SlotEvent, { type: 'executedElsewhere' }>): Transition {
  if (!slot.claims.includes(event.claim)) return ignored(slot, event)
  const claims = slot.claims.filter((claim) => claim !== event.claim)
  const { token } = event
  if (slot.end !== undefined)
    return { row: 35, slot: slotWith(slot, { claims, wasSettled: true }), actions: [] }
  return {
    row: 35,
    slot: slotWith(slot, { claims, end: 'void', token, wasSettled: true }),
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
  const tell: SlotAction[] = seen?.hash === hash ? [] : [{ do: 'tell', event: 'preconfirmed' }]
  return {
    row: 23,
    slot: slotWith(slot, { preconfirmed: { hash, blockNumber }, displaced: false }),
    actions: tell,
  }
}
