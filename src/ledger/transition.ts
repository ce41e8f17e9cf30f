import { ignored, noted, type SlotAction, type SlotEvent, type Transition } from './event.js'
import { fromOutcome, sentOnceMore, speedUp, stuck, withAttempt } from './sendOutcome.js'
import {
  emitForeign,
  fromUsed,
  outsideCommitted,
  used,
  usedBy,
  usedByOther,
  usedUnproven,
  whose,
} from './settlement.js'
import {
  type Attempt,
  type Hole,
  type Live,
  type Outside,
  type Reserved,
  type Slot,
  wantedClaim,
  withLast,
  withNewest,
} from './slot.js'
import { live, slotWith } from './slotWith.js'

/**
 * The state machine of one nonce: no I/O, no clock, no randomness. `slot` is undefined for a nonce without a
 * slot.
 *
 * @throws Error if a command (reserve, replace, hand out) meets a slot that cannot accept it. That is a bug
 * of this library, unlike a late observation, which is normal and ignored.
 */
export function transition(nonce: number, slot: Slot | undefined, event: SlotEvent): Transition {
  const current: Slot = slot ?? { state: 'hole', nonce, attempts: [] }
  switch (current.state) {
    case 'hole':
    case 'outside':
      return fromFree(current, event)
    case 'reserved':
      return fromReserved(current, event)
    case 'live':
      return fromLive(current, event)
    case 'used':
      return fromUsed(current, event)
    case 'final':
      return ignored(current, event)
    default: {
      const impossible: never = current
      throw new Error(`unknown slot state ${JSON.stringify(impossible)}`)
    }
  }
}

/**
 * Rows that leave `hole` (and new nonces) and `outside`: the lane does not want any bytes of its own there
 * yet.
 */
function fromFree(slot: Hole | Outside, event: SlotEvent): Transition {
  switch (event.type) {
    case 'sealed':
      return usedBy(24, slot, event)
    case 'evidence':
      return usedByOther(25, slot, event)
    case 'passed':
      // None of our transactions can have been there: if the chain has passed a hole, the base of the book
      // covers it.
      return slot.state === 'hole' ? ignored(slot, event) : usedUnproven(slot)
    default:
      return slot.state === 'hole' ? fromHole(slot, event) : fromOutside(slot, event)
  }
}

function fromHole(slot: Hole, event: SlotEvent): Transition {
  const { nonce, attempts } = slot
  switch (event.type) {
    case 'reserve': {
      const { claim, token } = event
      const reserved: Slot = { state: 'reserved', nonce, attempts, claim, token, committing: 0 }
      return { row: 1, slot: reserved, actions: [{ do: 'sign', claim, token }] }
    }
    case 'gapTimer':
      if (!event.boundAbove) return { row: 3, slot, actions: [] }
      // A waiting transaction takes the nonce by row 1: that is cheaper than a no-op, and useful.
      if (event.waiting) return ignored(slot, event)
      return { row: 2, slot: voided(slot, event.token), actions: [{ do: 'noop', token: event.token }] }
    case 'seeded':
      return { row: 8, slot: { state: 'outside', nonce, attempts, origin: 'seeded' }, actions: [] }
    case 'handOut':
      return { row: 8, slot: { state: 'outside', nonce, attempts, origin: 'handedOut' }, actions: [] }
    default:
      return ignored(slot, event)
  }
}

function fromOutside(slot: Outside, event: SlotEvent): Transition {
  const { nonce, attempts } = slot
  switch (event.type) {
    case 'outsideCommitted': {
      const { attempt } = event
      const claims = attempt.claim === undefined ? [] : [attempt.claim]
      return {
        row: 9,
        slot: live(nonce, 0, { claims, attempts: withNewest(attempts, attempt) }),
        actions: [],
      }
    }
    case 'released':
      return { row: 10, slot: { state: 'hole', nonce, attempts }, actions: [] }
    case 'ttl':
      return slot.origin === 'handedOut' ? fill(11, slot, event) : ignored(slot, event)
    case 'stuck':
      return slot.origin === 'seeded' && event.head ? fill(12, slot, event) : ignored(slot, event)
    default:
      return ignored(slot, event)
  }
}

/** No sender is known to still use the nonce: a no-op fills it, or a lane without a signer emits `gap`. */
function fill(row: number, slot: Outside, event: { signer: boolean; token: number }): Transition {
  if (!event.signer) return { row, slot, actions: [{ do: 'emit', event: 'gap' }] }
  return { row, slot: voided(slot, event.token), actions: [{ do: 'noop', token: event.token }] }
}

/**
 * A nonce that the lane now uses up itself. Bytes that other senders may have sent there can still land: no
 * claim is bound, so that does no harm.
 */
function voided(slot: Hole | Outside, token: number): Live {
  return live(slot.nonce, token, { attempts: slot.attempts, end: 'void' })
}

/** Rows that leave `reserved`: bound to a transaction, with nothing journaled for it. */
function fromReserved(slot: Reserved, event: SlotEvent): Transition {
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
        return { row: 7, slot: used(slot, by, event.block), actions: [...emitForeign(event), again] }
      }
      const by = whose(slot, event.hash)
      const reported: SlotAction = { do: 'emit', event: by.kind === 'noop' ? 'sealed' : 'foreign' }
      return { row: 7, slot: used(slot, by, event.block), actions: [reported, again] }
    }
    default:
      return ignored(slot, event)
  }
}

/** The action for a claim of which nothing was journaled. */
function gaveUp(claim: string, why: 'failed' | 'again'): SlotAction {
  return why === 'again' ? { do: 'queueAgain', claim } : { do: 'end', claim, as: 'withdrawn' }
}

/**
 * Rows that start from `live`: bytes are journaled, so the nonce stays bound until the chain decides (P2).
 */
function fromLive(slot: Live, event: SlotEvent): Transition {
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
  const report: SlotAction[] = seen?.hash === hash ? [] : [{ do: 'emit', event: 'preconfirmed' }]
  return {
    row: 23,
    slot: slotWith(slot, { preconfirmed: { hash, blockNumber }, displaced: false }),
    actions: report,
  }
}
