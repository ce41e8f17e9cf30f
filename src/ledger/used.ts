import type { SlotAction, SlotEvent } from './event.js'
import type { Transition } from './result.js'
import {
  type Attempt,
  concernsCaller,
  type Hole,
  type Live,
  type Outside,
  type Reserved,
  type Slot,
  type Used,
  type UsedBy,
} from './slot.js'
import { slotWith } from './slotWith.js'

type Sealed = Extract<SlotEvent, { type: 'sealed' }>
type Evidence = Extract<SlotEvent, { type: 'evidence' }>
type Unused = Hole | Outside | Reserved | Live

/** Row 24: one of our own attempts is in a sealed block. */
export function usedBy(row: number, slot: Hole | Outside | Live, event: Sealed): Transition {
  const bound = slot.state === 'live' ? boundBefore(slot, event.hash) : slot
  const by = whose(bound, event.hash)
  const told: SlotAction = { do: 'emit', event: by.kind === 'other' ? 'foreign' : 'sealed' }
  const next = used(bound, by, event.block)
  if (bound === slot) return { row, slot: next, actions: [told] }
  return { row, slot: next, actions: [{ do: 'emit', event: 'corrected' }, ...reclaims(next.claims)] }
}

/**
 * The slot with the claims that were bound to it before a verdict was taken back (rows 27 and 32), or before
 * a block showed that one of them had executed elsewhere (row 35), if an attempt of one of these claims used
 * the nonce. The claims may be queued or bound elsewhere by now, and must not execute in addition to that
 * attempt.
 */
export function boundBefore<slot extends Live | Used>(slot: slot, hash: Attempt['hash']): slot {
  const isVoid = slot.claims.length === 0 || slot.end !== undefined
  if (!slot.settledBefore || !isVoid || whose(slot, hash).kind === 'claim') return slot
  const claims = [...new Set([...slot.attempts.flatMap(({ claim }) => claim ?? []), ...slot.claims])]
  const bound = slotWith<Live | Used>(slot, { claims }) as slot
  return whose(bound, hash).kind === 'claim' ? bound : slot
}

/** Ends these claims wherever they are queued or bound now. */
export const reclaims = (claims: readonly string[]): SlotAction[] =>
  claims.map((claim) => ({ do: 'reclaim', claim }))

/** Row 25: a witness shows that none of our transactions used the nonce. */
export function usedByOther(row: number, slot: Hole | Outside | Live, event: Evidence): Transition {
  const by: UsedBy = { kind: 'other', hash: event.hash }
  return { row, slot: used(slot, by, event.block), actions: toldOf(event) }
}

/** An authorization of our own uses a nonce that was reserved for it: no event is emitted. */
export function toldOf(event: Evidence): readonly SlotAction[] {
  return event.authorized ? [] : [{ do: 'emit', event: 'foreign' }]
}

/**
 * Row 26: the nonce is used, and the transaction that used it can no longer be determined. No conclusion is
 * drawn from that. If no caller is concerned, none is needed.
 */
export function usedUnproven(slot: Outside | Live): Transition {
  return {
    row: 26,
    slot: used(slot, { kind: 'unproven' }, undefined),
    actions: concernsCaller(slot) ? [{ do: 'emit', event: 'unresolved' }] : [],
  }
}

/**
 * The owner of the attempt. If its transaction is no longer claimed here, it had ended or was rebound. The
 * slot treats such an attempt as foreign, since the present claim has not executed.
 */
export function whose(slot: Slot, hash: Used['attempts'][number]['hash']): UsedBy {
  const attempt = slot.attempts.find((known) => known.hash === hash)
  if (attempt === undefined) return { kind: 'other', hash }
  if (attempt.claim === undefined) return { kind: 'noop', hash }
  const claims = slot.state === 'live' || slot.state === 'used' ? slot.claims : []
  return claims.includes(attempt.claim)
    ? { kind: 'claim', claim: attempt.claim, hash }
    : { kind: 'other', hash }
}

/** The claim of a reserved nonce is dropped: nothing of it was journaled, so it moves to another nonce. */
export function used(slot: Unused, by: UsedBy, at: Used['at']): Used {
  const { nonce, attempts } = slot
  const live = slot.state === 'live' ? slot : undefined
  return {
    state: 'used',
    nonce,
    attempts,
    claims: live?.claims ?? [],
    end: live?.end,
    by,
    at,
    settledBefore: live?.settledBefore ?? false,
    settled: false,
    committing: live?.committing ?? 0,
  }
}
