import type { SlotAction, SlotEvent } from './event.js'
import { bump, mayVoid, missing, voided } from './fromStuck.js'
import { ignored, type Transition } from './result.js'
import { type Attempt, type Live, newestAttempt } from './slot.js'
import { attemptWith, slotWith } from './slotWith.js'

type Outcome = Extract<SlotEvent, { type: 'outcome' }>

/**
 * The number of our own replacements that the pool may call underpriced before its answer counts as a
 * displacement.
 */
const UNDERBIDS_MAX = 3

/** Rows 13 to 18: the result of one send to one endpoint (design section 5). Unknown is the default. */
export function fromOutcome(slot: Live, event: Outcome): Transition {
  const { hash } = event
  const attempt = slot.attempts.find((known) => known.hash === hash)
  if (attempt === undefined) return ignored(slot, event)
  // Bytes that the slot no longer wants (cancelled, replaced, ended) are neither resent nor bumped, whatever
  // the outcome: their successors are on the way (P5, row 21).
  const newest = newestAttempt(slot)?.hash === hash && missing(slot) === undefined
  switch (event.outcome) {
    case 'accepted': {
      const attempts = withAttempt(slot.attempts, hash, taken)
      return {
        row: 13,
        slot: newest
          ? slotWith(slot, { attempts, displaced: false, replacementRejections: 0, refusals: 0 })
          : slotWith(slot, { attempts }),
        actions: [],
      }
    }
    case 'unknown':
      return { row: 13, slot, actions: newest ? [{ do: 'resend', hash }] : [] }
    case 'intrinsic':
      return mayFree(slot, attempt, event) ? freed(slot) : counted(slot, newest, hash)
    case 'counted':
      return counted(slot, newest, hash)
    case 'feeTooLow':
      return newest && !slot.displaced ? feeTooLow(slot, attempt, event) : { row: 16, slot, actions: [] }
    case 'underpriced':
      return newest ? underpriced(slot, event) : { row: 17, slot, actions: [] }
    case 'nonceTooLow':
      return { row: 18, slot, actions: [{ do: 'findEvidence' }, ...backOff(newest, hash)] }
    case 'refused':
      return { row: 18, slot, actions: backOff(newest, hash) }
    default: {
      const impossible: never = event.outcome
      throw new Error(`unknown outcome ${String(impossible)}`)
    }
  }
}

/**
 * Row 14. Bytes are known to be nowhere only if no other process, no earlier process and no second send can
 * have delivered them, and no other bytes are journaled or about to be journaled at this nonce.
 */
function mayFree(slot: Live, attempt: Attempt, event: Outcome): boolean {
  const only = slot.attempts.length === 1 && slot.committing === 0 && slot.claims.length === 1
  const mine = attempt.epoch === event.epoch && attempt.sends <= 1 && !attempt.accepted
  return only && mine && slot.end === undefined && attempt.claim === slot.claims[0]
}

function freed({ nonce, attempts, claims }: Live): Transition {
  return {
    row: 14,
    slot: { state: 'hole', nonce, attempts },
    actions: claims.map((claim) => ({ do: 'end', claim, as: 'rejected' })),
  }
}

/** Row 15. The refusal of an older attempt does not concern the attempt that is resent. */
function counted(slot: Live, newest: boolean, hash: Attempt['hash']): Transition {
  const next = newest ? slotWith(slot, { refusals: slot.refusals + 1 }) : slot
  return { row: 15, slot: next, actions: backOff(newest, hash) }
}

/**
 * Row 16. If no bump within the ceiling would be accepted, the same bytes are sent once more, since another
 * endpoint may accept them. After that the nonce is voided if a no-op gets in and no endpoint ever accepted
 * an attempt (row 20). Otherwise it waits: the node may lower its minimum, or the caller may name higher
 * fees.
 */
function feeTooLow(slot: Live, attempt: Attempt, { hash, beyond }: Outcome): Transition {
  if (beyond === undefined) return { row: 16, slot, actions: [bump(slot)] }
  if (attempt.sends < 2) return { row: 16, slot, actions: backOff(true, hash) }
  const isTaken = slot.attempts.some(({ accepted }) => accepted)
  if (!isTaken && beyond.fillable && mayVoid(slot, beyond)) return voided(slot, beyond.token, true)
  const actions: SlotAction[] = slot.resentSinceSigned ? [] : [{ do: 'emit', event: 'feeCeiling' }]
  return { row: 16, slot: slotWith(slot, { resentSinceSigned: true }), actions }
}

/**
 * Row 17. If the pool may hold one of our own attempts, the next bump is larger, and is made at once if the
 * pool stated its minimum. Otherwise the pool holds another sender's transaction, and our bytes are only
 * resent with each `stuck`.
 */
function underpriced(slot: Live, { stated = false }: Outcome): Transition {
  const ours = !slot.displaced && slot.attempts.length > 1 && slot.replacementRejections < UNDERBIDS_MAX
  if (ours) {
    const next = slotWith(slot, {
      replacementRejections: slot.replacementRejections + 1,
      resentSinceSigned: true,
    })
    return { row: 17, slot: next, actions: stated ? [bump(next)] : [] }
  }
  const actions: SlotAction[] = slot.displaced ? [] : [{ do: 'emit', event: 'displaced' }]
  return { row: 17, slot: slotWith(slot, { displaced: true }), actions }
}

const backOff = (newest: boolean, hash: Attempt['hash']): SlotAction[] =>
  newest ? [{ do: 'backOff', hash }] : []

const taken = (attempt: Attempt): Attempt => attemptWith(attempt, { accepted: true })

export const sentOnceMore = (attempt: Attempt): Attempt => attemptWith(attempt, { sends: attempt.sends + 1 })

/** The attempts with one of them changed. */
export function withAttempt(
  attempts: readonly Attempt[],
  hash: Attempt['hash'],
  change: (attempt: Attempt) => Attempt,
): readonly Attempt[] {
  return attempts.map((attempt) => (attempt.hash === hash ? change(attempt) : attempt))
}
