import type { EndAs, SlotAction, SlotEvent } from './event.js'
import { live } from './fromFree.js'
import type { Live, Slot, Used } from './slot.js'
import { ignored, type Transition } from './transition.js'
import { whose } from './used.js'

/** Rows that start from `used`: block contents said who used the nonce; the verdict waits for `lossDepth`. */
export function fromUsed(slot: Used, event: SlotEvent): Transition {
  switch (event.type) {
    case 'sealed':
      if (slot.by.kind !== 'unproven') return ignored(slot, event)
      return { row: 27, slot: { ...slot, by: whose(slot, event.hash), at: event.block }, actions: [] }
    case 'evidence': {
      if (slot.by.kind !== 'unproven') return ignored(slot, event)
      const by = { kind: 'other' as const, hash: event.hash }
      return { row: 27, slot: { ...slot, by, at: event.block }, actions: [{ do: 'tell', event: 'foreign' }] }
    }
    case 'resolve':
      return resolve(slot, event)
    case 'left':
      if (slot.at?.hash !== event.block.hash) return ignored(slot, event)
      return slot.settled ? leftSettled(slot, event.token) : left(slot, event.token)
    case 'lossDepth':
      return slot.settled ? ignored(slot, event) : settle(slot, event)
    case 'horizon':
      if (!slot.settled) return ignored(slot, event)
      return { row: 33, slot: { state: 'final', nonce: slot.nonce, attempts: [] }, actions: [{ do: 'prune' }] }
    case 'journaled':
      return late(slot, event)
    default:
      return ignored(slot, event)
  }
}

/** Bytes whose commit was under way when the nonce went: journaled counts as sent, so they are kept. */
function late(slot: Used, event: Extract<SlotEvent, { type: 'journaled' }>): Transition {
  if (slot.attempts.some((known) => known.hash === event.attempt.hash)) return ignored(slot, event)
  return { row: 0, slot: { ...slot, attempts: [event.attempt, ...slot.attempts] }, actions: [] }
}

/** Row 27: an operator who looked elsewhere (an explorer, the recipient) says what became of the last claim. */
function resolve(slot: Used, event: Extract<SlotEvent, { type: 'resolve' }>): Transition {
  if (slot.by.kind !== 'unproven' || !slot.claims.includes(event.claim)) return ignored(slot, event)
  const by: Used['by'] =
    event.fate === 'executed'
      ? { kind: 'claim', claim: event.claim, hash: undefined }
      : { kind: 'other', hash: undefined }
  const { slot: settled, actions } = settle({ ...slot, by }, event)
  return { row: 27, slot: settled, actions }
}

/** Row 28: nothing was concluded yet, so nothing has to be taken back. */
function left(slot: Used, token: number): Transition {
  const { nonce, attempts, claims, end } = slot
  const newest = attempts[attempts.length - 1]
  if (newest === undefined) {
    const next: Slot = { state: 'outside', nonce, attempts, origin: 'seeded' }
    return { row: 28, slot: next, actions: [{ do: 'tell', event: 'reorged' }] }
  }
  const next: Live = { ...live(nonce, token), attempts, claims, end: end ?? (claims.length === 0 ? 'void' : undefined) }
  return { row: 28, slot: next, actions: [{ do: 'tell', event: 'reorged' }, { do: 'resend', hash: newest.hash }] }
}

/**
 * Row 32: a block came off that was deep enough to be believed. What landed is sent again, so that what was told
 * stays true; otherwise the nonce is voided. Either way an operator looks before the lane goes on.
 */
function leftSettled(slot: Used, token: number): Transition {
  const { nonce, by } = slot
  const hold: SlotAction[] = [
    { do: 'tell', event: 'deepReorg' },
    { do: 'hold', reason: 'deepReorg' },
  ]
  const landed = by.kind === 'claim' ? slot.attempts.find((attempt) => attempt.hash === by.hash) : undefined
  if (landed === undefined || by.kind !== 'claim') {
    const next: Live = { ...live(nonce, token), attempts: slot.attempts, end: 'void' }
    return { row: 32, slot: next, actions: [...hold, { do: 'noop', token }] }
  }
  // The landed attempt becomes the newest: it is the one to resend.
  const attempts = [...slot.attempts.filter((attempt) => attempt !== landed), landed]
  const next: Live = { ...live(nonce, token), attempts, claims: [by.claim] }
  return { row: 32, slot: next, actions: [...hold, { do: 'resend', hash: landed.hash }] }
}

/** Rows 29 to 31: the verdict. */
function settle(slot: Used, event: SlotEvent): Transition {
  const settled: Used = { ...slot, settled: true }
  switch (slot.by.kind) {
    case 'unproven':
      return ignored(slot, event)
    case 'claim':
      return { row: 29, slot: settled, actions: landed(slot, slot.by.claim, slot.by.hash) }
    case 'noop': {
      const told: SlotAction[] = slot.end === 'void' ? [{ do: 'tell', event: 'gapFilled' }] : []
      return { row: 30, slot: settled, actions: [...told, ...ended(slot)] }
    }
    case 'other':
      return { row: 31, slot: settled, actions: ended(slot) }
    default: {
      const impossible: never = slot.by
      throw new Error(`unknown use ${JSON.stringify(impossible)}`)
    }
  }
}

/** Row 29. A claim that had been asked to end and landed all the same has executed: told as it is. */
function landed(slot: Used, claim: string, hash: Used['attempts'][number]['hash'] | undefined): SlotAction[] {
  const index = slot.claims.indexOf(claim)
  return slot.claims.map((other, i): SlotAction => {
    if (i === index) return { do: 'landed', claim, hash }
    return { do: 'end', claim: other, as: i < index ? 'superseded' : 'tooLate' }
  })
}

/** Rows 30 and 31: no claim of this slot executed. */
function ended(slot: Used): SlotAction[] {
  const last = slot.claims[slot.claims.length - 1]
  const earlier = slot.claims.slice(0, -1).map((claim): SlotAction => ({ do: 'end', claim, as: 'superseded' }))
  return last === undefined ? earlier : [...earlier, asAsked(last, slot)]
}

function asAsked(claim: string, slot: Used): SlotAction {
  const as: Record<'cancel' | 'void', EndAs> = { cancel: 'cancelled', void: 'voided' }
  // Only a nonce that something else took sends the claim to another one: after a no-op of ours there is an end.
  return slot.end === undefined ? { do: 'queueAgain', claim } : { do: 'end', claim, as: as[slot.end] }
}
