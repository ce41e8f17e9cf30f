import type { SlotAction, SlotEvent } from './event.js'
import { ignored, type Transition } from './result.js'
import { isRefusedForGood, type Live, newestAttempt, wantedClaim } from './slot.js'
import { slotWith } from './slotWith.js'

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
  const tell: SlotAction[] = atCeilingInVain(slot, event) ? [{ do: 'emit', event: 'feeCeiling' }] : []
  return {
    row: 19,
    slot: slotWith(slot, { resentSinceSigned: true }),
    actions: [...tell, ...resendNewest(slot)],
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
export function mayVoid(slot: Live, { head, signer }: Pick<Stuck, 'head' | 'signer'>): boolean {
  return slot.end === undefined && !slot.settledBefore && head && signer
}

function atCeilingInVain(slot: Live, event: Stuck): boolean {
  return slot.end === undefined && event.head && event.atCeiling && slot.resentSinceSigned
}

/** Row 20. The claim ends only when the no-op has landed: until then the claim itself may still land. */
export function voided(slot: Live, token: number, atCeiling: boolean): Transition {
  const tell: SlotAction[] = atCeiling ? [{ do: 'emit', event: 'feeCeiling' }] : []
  return { row: 20, slot: slotWith(slot, { end: 'void', token }), actions: [...tell, { do: 'noop', token }] }
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

export const bump = (slot: Live): SlotAction => ({
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
