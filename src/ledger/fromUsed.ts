import type { SlotAction, SlotEvent } from './event.js'
import { live } from './fromFree.js'
import { outsideCommitted } from './fromLive.js'
import { sentOnceMore, withAttempt } from './fromOutcome.js'
import { missing, resendNewest } from './fromStuck.js'
import { ignored, noted, type Transition } from './result.js'
import type { Attempt, Live, Slot, Used, UsedBy } from './slot.js'
import { slotWith } from './slotWith.js'
import { boundBefore, reclaims, toldOf, whose } from './used.js'
import { resolve, settle } from './verdict.js'

/** Rows that start from `used`: block contents said who used the nonce; the verdict waits for `lossDepth`. */
export function fromUsed(slot: Used, event: SlotEvent): Transition {
  switch (event.type) {
    case 'sealed':
      return sealed(slot, event)
    case 'evidence': {
      if (slot.by.kind !== 'unproven') return ignored(slot, event)
      const by = { kind: 'other' as const, hash: event.hash }
      return { row: 27, slot: slotWith(slot, { by, at: event.block }), actions: toldOf(event) }
    }
    case 'resolve':
      return resolve(slot, event)
    case 'cancel':
      // Who used the nonce is not settled: what is bound to it is not to be queued again, nor sent after a reorg.
      if (slot.settled || slot.end !== undefined || slot.claims.length === 0) return ignored(slot, event)
      return { row: 21, slot: slotWith(slot, { end: 'cancel' }), actions: [] }
    case 'left':
      if (slot.at === undefined || slot.at.hash !== event.block.hash) return ignored(slot, event)
      return slot.settled ? leftSettled(slot, event.token) : left(slot, event.token)
    case 'refuted':
      // A block in which the nonce is used is taken back by that block alone.
      if (slot.at !== undefined) return ignored(slot, event)
      return slot.settled ? saidInVain(slot, event.token) : openAgain(27, slot, event.token)
    case 'unwitnessed':
      if (slot.settled || slot.by.kind !== 'other' || slot.at?.hash !== event.block.hash)
        return ignored(slot, event)
      return openAgain(34, slot, event.token)
    case 'executedElsewhere':
      return executedElsewhere(slot, event.claim)
    case 'lossDepth':
      return slot.settled ? ignored(slot, event) : settle(slot, event)
    case 'horizon':
      if (!slot.settled) return ignored(slot, event)
      return {
        row: 33,
        slot: { state: 'final', nonce: slot.nonce, attempts: [] },
        actions: [{ do: 'prune' }],
      }
    case 'sent':
      return noted(slotWith(slot, { attempts: withAttempt(slot.attempts, event.hash, sentOnceMore) }))
    case 'journaled':
      return noted(late(slotWith(slot, { committing: Math.max(0, slot.committing - 1) }), event.attempt))
    case 'notCommitted':
      return noted(slotWith(slot, { committing: Math.max(0, slot.committing - 1) }))
    case 'outsideCommitted':
      return lateOutside(slot, event.attempt)
    default:
      return ignored(slot, event)
  }
}

/**
 * Rows 24 and 27: a body of the walked chain holds an attempt of ours, which is the strongest evidence there is. After the
 * verdict it takes back one conclusion alone: a claim that was queued again must not execute beside the attempt of a claim
 * of this nonce. What ended stays ended, and a claim that goes on after a no-op of ours stays where it is.
 */
function sealed(slot: Used, event: Extract<SlotEvent, { type: 'sealed' }>): Transition {
  const bound = boundBefore(slot, event.hash)
  const by = whose(bound, event.hash)
  const next = slotWith(bound, { by, at: event.block })
  const before = bound === slot ? [] : reclaims(bound.claims)
  if (slot.by.kind === 'unproven') return { row: 27, slot: next, actions: before }
  const isOurs = slot.attempts.some(({ hash }) => hash === event.hash)
  if (!event.walked || slot.by.hash === event.hash || !isOurs) return ignored(slot, event)
  const told: SlotAction[] = isConfirmed(slot.by, by) ? [] : [{ do: 'tell', event: 'corrected' }]
  const again = by.kind === 'claim' ? [...before, ...reclaims(queuedAgain(slot))] : []
  if (again.length === 0) return { row: 24, slot: next, actions: told }
  return { row: 24, slot: slotWith(next, { settled: false }), actions: [...told, ...again] }
}

/** The operator named the claim, and the block now names the attempt. */
const isConfirmed = (believed: UsedBy, seen: UsedBy): boolean =>
  believed.kind === 'claim' && seen.kind === 'claim' && believed.claim === seen.claim

/** The claim that the verdict sent to another nonce (row 31). */
const queuedAgain = (slot: Used): readonly string[] =>
  slot.settled && slot.by.kind === 'other' && slot.end === undefined ? slot.claims.slice(-1) : []

/** Row 35 before the verdict: the claim goes to no other nonce, and what replaced it on request ends with it. */
function executedElsewhere(slot: Used, claim: string): Transition {
  if (slot.settled || !slot.claims.includes(claim)) return noted(slot)
  const claims = slot.claims.filter((other) => other !== claim)
  const by: UsedBy =
    slot.by.kind === 'claim' && slot.by.claim === claim ? { kind: 'other', hash: slot.by.hash } : slot.by
  return {
    row: 35,
    slot: slotWith(slot, { claims, by, end: slot.end ?? 'void', wasSettled: true }),
    actions: [],
  }
}

/** Rows 27 and 34: what the use of the nonce rested on is refuted. Nothing was concluded from it. */
function openAgain(row: number, slot: Used, token: number): Transition {
  const { nonce, attempts, claims, end, committing, wasSettled } = slot
  if (attempts.length === 0 && claims.length === 0 && committing === 0)
    return { row, slot: { state: 'hole', nonce, attempts }, actions: [] }
  const ended = end ?? (claims.length === 0 ? 'void' : undefined)
  return again(row, live(nonce, token, { attempts, claims, end: ended, committing, wasSettled }), [])
}

/** Bytes whose commit was under way when the nonce went: journaled counts as sent, so they are kept. */
function late(slot: Used, attempt: Attempt): Used {
  if (slot.attempts.some((known) => known.hash === attempt.hash)) return slot
  return slotWith(slot, { attempts: [attempt, ...slot.attempts] })
}

/** Row 9 after the fact: what looked foreign may have been what the nonce was handed out for. */
function lateOutside(slot: Used, attempt: Attempt): Transition {
  const kept = late(slot, attempt)
  if (kept === slot || slot.settled) return noted(kept)
  if (slot.by.kind === 'other' && slot.by.hash === undefined) return lookedForAgain(slot, attempt)
  const claims = slot.claims.length === 0 && attempt.claim !== undefined ? [attempt.claim] : slot.claims
  const next = slotWith(kept, { claims })
  const landed = slot.by.kind === 'other' && slot.by.hash === attempt.hash
  return noted(landed ? slotWith(next, { by: whose(next, attempt.hash) }) : next)
}

/** The pair of blocks proved that none of the attempts known then used the nonce, which says nothing of this one. */
function lookedForAgain(slot: Used, attempt: Attempt): Transition {
  const { nonce, attempts, claims, end, committing, wasSettled } = slot
  const open: Live = live(nonce, 0, { attempts, claims, end, committing, wasSettled })
  return { ...outsideCommitted(open, attempt), row: 9, actions: [{ do: 'look' }] }
}

/** Row 28: nothing was concluded yet, so nothing has to be taken back. */
function left(slot: Used, token: number): Transition {
  const { nonce, attempts, claims, end, committing, wasSettled } = slot
  if (attempts.length === 0 && claims.length === 0 && committing === 0) {
    const next: Slot = { state: 'outside', nonce, attempts, origin: 'seeded' }
    return { row: 28, slot: next, actions: [{ do: 'tell', event: 'reorged' }] }
  }
  const ended = end ?? (claims.length === 0 ? 'void' : undefined)
  return again(28, live(nonce, token, { attempts, claims, end: ended, committing, wasSettled }), [
    { do: 'tell', event: 'reorged' },
  ])
}

/** Row 32: a block came off that was deep enough to be believed. An operator looks before the lane goes on. */
function leftSettled(slot: Used, token: number): Transition {
  return takenBack(32, slot, token, [
    { do: 'tell', event: 'deepReorg' },
    { do: 'hold', reason: 'deepReorg' },
  ])
}

/** Row 27: an operator named a fate at a nonce that, as it turns out, nothing has used. */
function saidInVain(slot: Used, token: number): Transition {
  return takenBack(27, slot, token, [{ do: 'tell', event: 'corrected' }])
}

/**
 * The nonce is not used after its verdict. What landed is sent again, so that what was told stays true; otherwise the
 * nonce is voided.
 */
function takenBack(row: number, slot: Used, token: number, told: Transition['actions']): Transition {
  const { nonce, by, committing } = slot
  const known = { committing, wasSettled: true } as const
  const landed = slot.attempts.findLast((attempt) => isOf(attempt, by))
  if (landed?.claim === undefined) {
    return again(row, live(nonce, token, { ...known, attempts: slot.attempts, end: 'void' }), told)
  }
  // The landed attempt becomes the newest: it is the one to resend.
  const attempts = [...slot.attempts.filter((attempt) => attempt !== landed), landed]
  return again(row, live(nonce, token, { ...known, attempts, claims: [landed.claim] }), told)
}

/** Of the claim that executed. On the word of an operator no attempt is known to be the one: the newest stands for it. */
const isOf = (attempt: Attempt, by: UsedBy): boolean =>
  by.kind === 'claim' && (by.hash === undefined ? attempt.claim === by.claim : attempt.hash === by.hash)

/** Sends the newest again, but never the bytes of what has ended: where no-op bytes are lacking they are signed. */
function again(row: number, slot: Live, told: Transition['actions']): Transition {
  const lacking = missing(slot)
  return { row, slot, actions: [...told, ...(lacking === undefined ? resendNewest(slot) : [lacking])] }
}
