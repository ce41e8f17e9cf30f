import type { SlotAction, SlotEvent } from './event.js'
import { ignored, type Transition } from './result.js'
import { isRefusedForGood, type Live, newestAttempt, wantedClaim } from './slot.js'
import { slotWith } from './slotWith.js'

type Stuck = Extract<SlotEvent, { type: 'stuck' }>

/** Rows 17, 19 and 20: sealed blocks went by, and the nonce is still not used. */
export function stuck(slot: Live, event: Stuck): Transition {
  const lacking = missing(slot)
  if (lacking !== undefined) {
    // It may be what is being committed: asked for again, it would only be signed twice.
    return { row: 19, slot, actions: slot.committing > 0 ? [] : [lacking] }
  }
  if (slot.displaced) {
    const next = slotWith(slot, { nudged: true })
    return { row: 17, slot: next, actions: [{ do: 'tell', event: 'stuck' }, ...resendNewest(slot)] }
  }
  if (newestAttempt(slot) === undefined) return ignored(slot, event)
  if (hopeless(slot, event)) return voided(slot, event.token, event.atCeiling)
  // No fee mends what was refused for good: it is offered again as it is.
  const mayBump = event.signer && !event.atCeiling && slot.refusals === 0 && (event.head || !event.priced)
  if (mayBump && (slot.nudged || !event.priced)) {
    // A bump that cannot be made (no signature, no price) keeps nobody from the next resend.
    return { row: 19, slot: slotWith(slot, { nudged: false }), actions: [bump(slot)] }
  }
  const tell: SlotAction[] = atCeilingInVain(slot, event) ? [{ do: 'tell', event: 'feeCeiling' }] : []
  return { row: 19, slot: slotWith(slot, { nudged: true }), actions: [...tell, ...resendNewest(slot)] }
}

/**
 * At its ceiling and resent in vain, or refused three times for what no retry mends. Voided only where the no-op
 * can get in: while the base fee is above the lane's own ceiling, waiting loses nothing. What was only seen in a sealed
 * block that left the chain (row 28) may end like any other: callers were told that as well.
 */
function hopeless(slot: Live, event: Stuck): boolean {
  if (!mayVoid(slot, event)) return false
  return (atCeilingInVain(slot, event) && event.fillable) || isRefusedForGood(slot)
}

/** Whether the lane may give this nonce up by itself. */
export function mayVoid(slot: Live, { head, signer }: Pick<Stuck, 'head' | 'signer'>): boolean {
  return slot.end === undefined && !slot.wasSettled && head && signer
}

function atCeilingInVain(slot: Live, event: Stuck): boolean {
  return slot.end === undefined && event.head && event.atCeiling && slot.nudged
}

/** Row 20. The claim ends only when the no-op has landed: until then it may still be what lands. */
export function voided(slot: Live, token: number, atCeiling: boolean): Transition {
  const tell: SlotAction[] = atCeiling ? [{ do: 'tell', event: 'feeCeiling' }] : []
  return { row: 20, slot: slotWith(slot, { end: 'void', token }), actions: [...tell, { do: 'noop', token }] }
}

/**
 * The caller wants it in sooner: rows 19 and 17 without the wait. What the lane had given up by itself is wanted again
 * where the caller names fees that outbid its no-op: nothing was reported of its end yet.
 */
export function speedUp(slot: Live, { named, token }: Extract<SlotEvent, { type: 'speedUp' }>): Transition {
  const row = slot.displaced ? 17 : 19
  const again = named && slot.end === 'void' && !slot.wasSettled && slot.claims.length > 0
  const next = slotWith(slot, { displaced: false, ...(again ? { end: undefined, token } : {}) })
  return { row, slot: next, actions: [missing(next) ?? bump(next)] }
}

export const bump = (slot: Live): SlotAction => ({ do: 'bump', token: slot.token, underbids: slot.underbids })

/**
 * What the slot wants and has no bytes for yet: those of a replacement, or the no-op of an end. Asked again under
 * the same token, so that a signer slower than our patience still gets its answer in.
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
