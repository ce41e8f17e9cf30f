import type { SlotAction, SlotEvent } from './event.js'
import { gaveUp } from './fromReserved.js'
import { type Attempt, type Live, newestAttempt } from './slot.js'
import { ignored, type Transition } from './transition.js'
import { usedBy, usedByOther, usedUnproven } from './used.js'

type Outcome = Extract<SlotEvent, { type: 'outcome' }>
type Stuck = Extract<SlotEvent, { type: 'stuck' }>

/** Refusals at the head after which the nonce is voided (row 20). */
const REFUSALS_MAX = 3
/** Replacements of our own that may be called underpriced before we take the pool's word for a displacement. */
const UNDERBIDS_MAX = 3

/** Rows that start from `live`: bytes are journaled, so the nonce stays bound until the chain speaks (P2). */
export function fromLive(slot: Live, event: SlotEvent): Transition {
  switch (event.type) {
    case 'journaled':
      return attempted(slot, event.attempt)
    case 'commitUnknown':
      return { row: 5, slot, actions: [{ do: 'readAgain' }] }
    case 'withdraw':
      return withdraw(slot, event.claim, event.why, event)
    case 'sent':
      return { row: 0, slot: mark(slot, event.hash, (a) => ({ ...a, sends: a.sends + 1 })), actions: [] }
    case 'outcome':
      return outcome(slot, event)
    case 'stuck':
      return stuck(slot, event)
    case 'speedUp':
      return speedUp(slot)
    case 'cancel':
      return cancel(slot, event)
    case 'replace':
      return replace(slot, event)
    case 'preconfirmed':
      return preconfirmed(slot, event)
    case 'notPreconfirmed':
      if (slot.preconfirmedIn !== event.blockNumber) return ignored(slot, event)
      return { row: 23, slot: { ...slot, preconfirmedIn: undefined }, actions: [{ do: 'tell', event: 'reorged' }] }
    case 'sealed':
      return usedBy(24, slot, event)
    case 'evidence':
      return usedByOther(25, slot, event)
    case 'passed':
      return usedUnproven(slot)
    default:
      return ignored(slot, event)
  }
}

/**
 * The bytes that an action asked for are journaled. They count as sent whatever has happened meanwhile (P2); they
 * are broadcast only where they are still what the slot wants.
 */
function attempted(slot: Live, attempt: Attempt): Transition {
  const wanted = slot.end === undefined ? attempt.claim !== undefined : attempt.claim === undefined
  const known = slot.attempts.some((other) => other.hash === attempt.hash)
  if (known) return { row: 0, slot, actions: [] }
  // What is wanted stays the newest, which is the one that resending and bumping go by.
  const attempts = wanted ? [...slot.attempts, attempt] : [attempt, ...slot.attempts]
  const next: Live = { ...slot, attempts, nudged: wanted ? false : slot.nudged }
  return { row: 4, slot: next, actions: wanted ? [{ do: 'broadcast', hash: attempt.hash }] : [] }
}

/** Row 6 for a replacement: T' was bound here, but nothing of it was ever journaled. */
function withdraw(slot: Live, claim: string, why: 'failed' | 'again', event: SlotEvent): Transition {
  const journaled = slot.attempts.some((attempt) => attempt.claim === claim)
  if (!slot.claims.includes(claim) || journaled) return ignored(slot, event)
  const claims = slot.claims.filter((other) => other !== claim)
  return { row: 6, slot: { ...slot, claims }, actions: [gaveUp(claim, why)] }
}

function outcome(slot: Live, event: Outcome): Transition {
  const { hash } = event
  const attempt = slot.attempts.find((known) => known.hash === hash)
  if (attempt === undefined) return ignored(slot, event)
  const newest = newestAttempt(slot)?.hash === hash
  switch (event.outcome) {
    case 'accepted': {
      const next = mark(slot, hash, (a) => ({ ...a, accepted: true }))
      return { row: 13, slot: newest ? { ...next, displaced: false, underbids: 0 } : next, actions: [] }
    }
    case 'unknown':
      return { row: 13, slot, actions: newest ? [{ do: 'resend', hash }] : [] }
    case 'intrinsic':
      return intrinsic(slot, attempt, event)
    case 'counted':
      return { row: 15, slot: newest ? { ...slot, refusals: slot.refusals + 1 } : slot, actions: backOff(newest, hash) }
    case 'feeTooLow':
      return { row: 16, slot, actions: newest ? [bump(slot)] : [] }
    case 'underpriced':
      return newest ? underpriced(slot, hash) : { row: 17, slot, actions: [] }
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
 * Rows 14 and 15. Only bytes that no other process, no earlier life and no second send can have put anywhere are
 * known to be nowhere: then the nonce is free again, and the transaction ends.
 */
function intrinsic(slot: Live, attempt: Attempt, event: Outcome): Transition {
  const only = slot.attempts.length === 1 && slot.end === undefined && slot.claims.length === 1
  const mine = attempt.epoch === event.epoch && attempt.sends <= 1 && !attempt.accepted
  const claim = slot.claims[0]
  if (!only || !mine || claim === undefined) {
    return { row: 15, slot: { ...slot, refusals: slot.refusals + 1 }, actions: backOff(true, event.hash) }
  }
  return {
    row: 14,
    slot: { state: 'hole', nonce: slot.nonce, attempts: slot.attempts },
    actions: [{ do: 'end', claim, as: 'rejected' }],
  }
}

/** Row 17. Where the pool may hold an attempt of ours the next bump is larger; else somebody else's sits there. */
function underpriced(slot: Live, hash: Attempt['hash']): Transition {
  const ours = slot.attempts.length > 1 && slot.underbids < UNDERBIDS_MAX
  if (ours) return { row: 17, slot: { ...slot, underbids: slot.underbids + 1, nudged: true }, actions: [] }
  const actions: SlotAction[] = slot.displaced ? [] : [{ do: 'tell', event: 'displaced' }]
  return { row: 17, slot: { ...slot, displaced: true }, actions: [...actions, ...backOff(true, hash)] }
}

function stuck(slot: Live, event: Stuck): Transition {
  const newest = newestAttempt(slot)
  if (slot.displaced) return { row: 17, slot, actions: again(newest, { do: 'tell', event: 'stuck' }) }
  if (slot.end !== undefined && newest?.claim !== undefined) return askNoop(19, slot, event.token)
  if (newest === undefined) return slot.end === undefined ? ignored(slot, event) : askNoop(19, slot, event.token)
  if (hopeless(slot, event)) return giveUp(slot, event)
  const mayBump = event.signer && !event.atCeiling && (event.head || !event.priced)
  if (mayBump && (slot.nudged || !event.priced)) return { row: 19, slot, actions: [bump(slot)] }
  return { row: 19, slot: { ...slot, nudged: true }, actions: again(newest) }
}

/**
 * At its ceiling and resent in vain, or refused three times for what no retry mends. Voided only where the no-op
 * can get in: while the base fee is above the lane's own ceiling, waiting loses nothing.
 */
function hopeless(slot: Live, event: Stuck): boolean {
  if (slot.end !== undefined || !event.head || !event.signer) return false
  const spent = event.atCeiling && slot.nudged && event.fillable
  return spent || slot.refusals >= REFUSALS_MAX
}

/** Row 20. The claim ends only when the no-op has landed: until then it may still be what lands. */
function giveUp(slot: Live, event: Stuck): Transition {
  const { token } = event
  const tell: SlotAction[] = event.atCeiling ? [{ do: 'tell', event: 'feeCeiling' }] : []
  return { row: 20, slot: { ...slot, end: 'void', token }, actions: [...tell, { do: 'noop', token }] }
}

function askNoop(row: number, slot: Live, token: number): Transition {
  return { row, slot: { ...slot, token }, actions: [{ do: 'noop', token }] }
}

/** The caller wants it in sooner: rows 19 and 17 without the wait. */
function speedUp(slot: Live): Transition {
  const row = slot.displaced ? 17 : 19
  return { row, slot: { ...slot, displaced: false }, actions: [bump(slot)] }
}

function cancel(slot: Live, event: Extract<SlotEvent, { type: 'cancel' }>): Transition {
  // A slot has one end: one that is void already ends its claim as well.
  if (slot.end !== undefined) return ignored(slot, event)
  const { token } = event
  return { row: 21, slot: { ...slot, end: 'cancel', token }, actions: [{ do: 'noop', token }] }
}

function replace(slot: Live, event: Extract<SlotEvent, { type: 'replace' }>): Transition {
  if (slot.end !== undefined) return ignored(slot, event)
  const { claim, token } = event
  return {
    row: 22,
    slot: { ...slot, claims: [...slot.claims, claim], token, refusals: 0 },
    actions: [{ do: 'sign', claim, token }],
  }
}

function preconfirmed(slot: Live, event: Extract<SlotEvent, { type: 'preconfirmed' }>): Transition {
  const known = slot.attempts.some((attempt) => attempt.hash === event.hash)
  if (!known || slot.preconfirmedIn === event.blockNumber) return ignored(slot, event)
  const tell: SlotAction[] = slot.preconfirmedIn === undefined ? [{ do: 'tell', event: 'preconfirmed' }] : []
  return { row: 23, slot: { ...slot, preconfirmedIn: event.blockNumber, displaced: false }, actions: tell }
}

const bump = (slot: Live): SlotAction => ({ do: 'bump', token: slot.token, underbids: slot.underbids })

const backOff = (newest: boolean, hash: Attempt['hash']): SlotAction[] => (newest ? [{ do: 'backOff', hash }] : [])

function again(newest: Attempt | undefined, ...before: SlotAction[]): SlotAction[] {
  return newest === undefined ? before : [...before, { do: 'resend', hash: newest.hash }]
}

function mark(slot: Live, hash: Attempt['hash'], change: (attempt: Attempt) => Attempt): Live {
  return { ...slot, attempts: slot.attempts.map((attempt) => (attempt.hash === hash ? change(attempt) : attempt)) }
}
