import type { SlotEvent } from './event.js'
import { ignored, type Transition } from './result.js'
import { type Hole, type Live, NOTHING, type Outside, type Slot, withNewest } from './slot.js'
import { usedBy, usedByOther, usedUnproven } from './used.js'

/**
 * Rows that leave `hole` (and new nonces) and `outside`: the lane does not want any bytes of its own there
 * yet.
 */
export function fromFree(slot: Hole | Outside, event: SlotEvent): Transition {
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

/** A live slot with these fields, and defaults for all others. */
export function live(
  nonce: number,
  token: number,
  known: Partial<Pick<Live, 'attempts' | 'claims' | 'end' | 'settledBefore' | 'committing'>> = {},
): Live {
  return {
    state: 'live',
    nonce,
    attempts: known.attempts ?? NOTHING,
    claims: known.claims ?? NOTHING,
    end: known.end,
    token,
    preconfirmed: undefined,
    displaced: false,
    settledBefore: known.settledBefore ?? false,
    refusals: 0,
    replacementRejections: 0,
    resentSinceSigned: false,
    committing: known.committing ?? 0,
  }
}
