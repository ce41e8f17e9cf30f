import type { SlotAction, SlotEvent } from './event.js'
import { bump, mayVoid, missing, voided } from './fromStuck.js'
import { ignored, type Transition } from './result.js'
import { type Attempt, type Live, newestAttempt } from './slot.js'
import { attemptWith, slotWith } from './slotWith.js'

type Outcome = Extract<SlotEvent, { type: 'outcome' }>

/** Replacements of our own that may be called underpriced before we take the pool's word for a displacement. */
const UNDERBIDS_MAX = 3

/** Rows 13 to 18: what an endpoint said of a send (design section 5). Unknown is the default. */
export function fromOutcome(slot: Live, event: Outcome): Transition {
  const { hash } = event
  const attempt = slot.attempts.find((known) => known.hash === hash)
  if (attempt === undefined) return ignored(slot, event)
  // Bytes that are not wanted any more (cancelled, replaced, ended) are neither resent nor bumped, whatever is said
  // of them: others are on their way (P5, row 21).
  const newest = newestAttempt(slot)?.hash === hash && missing(slot) === undefined
  switch (event.outcome) {
    case 'accepted': {
      const attempts = withAttempt(slot.attempts, hash, taken)
      return {
        row: 13,
        slot: newest
          ? slotWith(slot, { attempts, displaced: false, underbids: 0, refusals: 0 })
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
      return { row: 18, slot, actions: [{ do: 'look' }, ...backOff(newest, hash)] }
    case 'refused':
      return { row: 18, slot, actions: backOff(newest, hash) }
    default: {
      const impossible: never = event.outcome
      throw new Error(`unknown outcome ${String(impossible)}`)
    }
  }
}

/**
 * Row 14. Only bytes that no other process, no earlier life and no second send can have put anywhere, and beside
 * which nothing was journaled or is about to be, are known to be nowhere.
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

/** Row 15. An older attempt's refusal says nothing of the one that is resent. */
function counted(slot: Live, newest: boolean, hash: Attempt['hash']): Transition {
  const next = newest ? slotWith(slot, { refusals: slot.refusals + 1 }) : slot
  return { row: 15, slot: next, actions: backOff(newest, hash) }
}

/**
 * Row 16. Where no bump within the ceiling can be taken, the same bytes are offered once more, since another endpoint
 * may take them. After that the nonce is voided where a no-op gets in and nothing of it was ever taken (row 20);
 * otherwise it waits: the node may come to take less, or the caller names more.
 */
function feeTooLow(slot: Live, attempt: Attempt, { hash, beyond }: Outcome): Transition {
  if (beyond === undefined) return { row: 16, slot, actions: [bump(slot)] }
  if (attempt.sends < 2) return { row: 16, slot, actions: backOff(true, hash) }
  const isTaken = slot.attempts.some(({ accepted }) => accepted)
  if (!isTaken && beyond.fillable && mayVoid(slot, beyond)) return voided(slot, beyond.token, true)
  const actions: SlotAction[] = slot.nudged ? [] : [{ do: 'tell', event: 'feeCeiling' }]
  return { row: 16, slot: slotWith(slot, { nudged: true }), actions }
}

/**
 * Row 17. Where the pool may hold an attempt of ours the next bump is larger, and made at once where the pool names what
 * it takes; else another sender's transaction is there. Its bytes are then offered again with each `stuck` alone.
 */
function underpriced(slot: Live, { stated = false }: Outcome): Transition {
  const ours = !slot.displaced && slot.attempts.length > 1 && slot.underbids < UNDERBIDS_MAX
  if (ours) {
    const next = slotWith(slot, { underbids: slot.underbids + 1, nudged: true })
    return { row: 17, slot: next, actions: stated ? [bump(next)] : [] }
  }
  const actions: SlotAction[] = slot.displaced ? [] : [{ do: 'tell', event: 'displaced' }]
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
