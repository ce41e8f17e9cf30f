import { ignored, type SlotAction, type SlotEvent, type Transition } from './event.js'
import { type Attempt, isRefusedForGood, type Live, newestAttempt, wantedClaim } from './slot.js'
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

type Stuck = Extract<SlotEvent, { type: 'stuck' }>

/** Rows 17, 19 and 20: sealed blocks went by, and the nonce is still not used. */
export function stuck(slot: Live, event: Stuck): Transition {
  const lacking = missing(slot)
  if (lacking !== undefined) {
    // The commit under way may contain exactly these bytes: a second request would only sign them twice.
    return { row: 19, slot, actions: slot.committing > 0 ? [] : [lacking] }
  }
  if (slot.displaced) {
    const next = slotWith(slot, { resentSinceSigned: true })
    return { row: 17, slot: next, actions: [{ do: 'emit', event: 'stuck' }, ...resendNewest(slot)] }
  }
  if (newestAttempt(slot) === undefined) return ignored(slot, event)
  if (hopeless(slot, event)) return voided(slot, event.token, event.atCeiling)
  // No fee fixes a permanent refusal: the same bytes are sent again.
  const mayBump = event.signer && !event.atCeiling && slot.refusals === 0 && (event.head || !event.priced)
  if (mayBump && (slot.resentSinceSigned || !event.priced)) {
    // If a bump cannot be made (no signature, no price), the next `stuck` still resends.
    return { row: 19, slot: slotWith(slot, { resentSinceSigned: false }), actions: [bump(slot)] }
  }
  const report: SlotAction[] = atCeilingInVain(slot, event) ? [{ do: 'emit', event: 'feeCeiling' }] : []
  return {
    row: 19,
    slot: slotWith(slot, { resentSinceSigned: true }),
    actions: [...report, ...resendNewest(slot)],
  }
}

/**
 * The nonce is at its ceiling and was resent in vain, or was refused three times for a reason that no retry
 * fixes. It is voided only if the no-op can get in: while the base fee is above the lane's own ceiling,
 * waiting loses nothing. A transaction that was only seen in a sealed block that left the chain (row 28) may
 * end like any other, since its caller was notified of the reorg as well.
 */
function hopeless(slot: Live, event: Stuck): boolean {
  if (!mayVoid(slot, event)) return false
  return (atCeilingInVain(slot, event) && event.fillable) || isRefusedForGood(slot)
}

/** Whether the lane may give up this nonce on its own. */
function mayVoid(slot: Live, { head, signer }: Pick<Stuck, 'head' | 'signer'>): boolean {
  return slot.end === undefined && !slot.settledBefore && head && signer
}

function atCeilingInVain(slot: Live, event: Stuck): boolean {
  return slot.end === undefined && event.head && event.atCeiling && slot.resentSinceSigned
}

/** Row 20. The claim ends only when the no-op has landed: until then the claim itself may still land. */
function voided(slot: Live, token: number, atCeiling: boolean): Transition {
  const report: SlotAction[] = atCeiling ? [{ do: 'emit', event: 'feeCeiling' }] : []
  return {
    row: 20,
    slot: slotWith(slot, { end: 'void', token }),
    actions: [...report, { do: 'noop', token }],
  }
}

/**
 * The caller wants the transaction included sooner: rows 19 and 17 without the wait. A claim that the lane
 * gave up on its own is wanted again if the caller names fees that outbid the no-op: its end has not been
 * reported yet.
 */
export function speedUp(slot: Live, { named, token }: Extract<SlotEvent, { type: 'speedUp' }>): Transition {
  const row = slot.displaced ? 17 : 19
  const again = named && slot.end === 'void' && !slot.settledBefore && slot.claims.length > 0
  const next = slotWith(slot, { displaced: false, ...(again ? { end: undefined, token } : {}) })
  return { row, slot: next, actions: [missing(next) ?? bump(next)] }
}

const bump = (slot: Live): SlotAction => ({
  do: 'bump',
  token: slot.token,
  replacementRejections: slot.replacementRejections,
})

/**
 * The bytes that the slot wants and does not have yet: those of a replacement, or the no-op of an end.
 * Requested again under the same token, so that the answer of a signer slower than our patience still counts.
 */
export function missing(slot: Live): SlotAction | undefined {
  const claim = wantedClaim(slot)
  const newest = newestAttempt(slot)
  if (newest !== undefined && newest.claim === claim) return undefined
  const { token } = slot
  if (claim !== undefined) return { do: 'sign', claim, token }
  return slot.end === undefined ? undefined : { do: 'noop', token }
}

export function resendNewest(slot: Live): SlotAction[] {
  const newest = newestAttempt(slot)
  return newest === undefined ? [] : [{ do: 'resend', hash: newest.hash }]
}
