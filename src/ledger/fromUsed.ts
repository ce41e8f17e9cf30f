import type { SlotEvent } from './event.js'
import { live } from './fromFree.js'
import { outsideCommitted } from './fromLive.js'
import { sentOnceMore, withAttempt } from './fromOutcome.js'
import { missing } from './fromStuck.js'
import { ignored, noted, type Transition } from './result.js'
import { type Attempt, type Live, newestAttempt, type Slot, type Used } from './slot.js'
import { slotWith } from './slotWith.js'
import { toldOf, whose } from './used.js'
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
      if (slot.by.kind !== 'unproven') return ignored(slot, event)
      return openAgain(27, slot, event.token)
    case 'unwitnessed':
      if (slot.settled || slot.by.kind !== 'other' || slot.at?.hash !== event.block.hash)
        return ignored(slot, event)
      return openAgain(34, slot, event.token)
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
 * Rows 24 and 27: a body of the walked chain holds an attempt of ours, which is the strongest evidence there is. Where the
 * verdict was another one, the claim has been bound again or has ended: the shell ends what was begun since.
 */
function sealed(slot: Used, event: Extract<SlotEvent, { type: 'sealed' }>): Transition {
  const by = whose(slot, event.hash)
  if (slot.by.kind === 'unproven')
    return { row: 27, slot: slotWith(slot, { by, at: event.block }), actions: [] }
  const isOurs = slot.attempts.some(({ hash }) => hash === event.hash)
  if (!event.walked || slot.by.kind !== 'other' || slot.by.hash === event.hash || !isOurs)
    return ignored(slot, event)
  const told: Transition['actions'] = [{ do: 'tell', event: 'corrected' }]
  const corrected = slotWith(slot, { by, at: event.block, settled: false })
  if (!slot.settled || by.kind !== 'claim') return { row: 24, slot: corrected, actions: told }
  return {
    row: 24,
    slot: corrected,
    actions: [...told, { do: 'reclaim', claim: by.claim, hash: event.hash }],
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

/**
 * Row 32: a block came off that was deep enough to be believed. What landed is sent again, so that what was told
 * stays true; otherwise the nonce is voided. Either way an operator looks before the lane goes on.
 */
function leftSettled(slot: Used, token: number): Transition {
  const { nonce, by, committing } = slot
  const told: Transition['actions'] = [
    { do: 'tell', event: 'deepReorg' },
    { do: 'hold', reason: 'deepReorg' },
  ]
  const landed = by.kind === 'claim' ? slot.attempts.find((attempt) => attempt.hash === by.hash) : undefined
  if (landed === undefined || by.kind !== 'claim') {
    return again(32, live(nonce, token, { attempts: slot.attempts, end: 'void', committing }), told)
  }
  // The landed attempt becomes the newest: it is the one to resend.
  const attempts = [...slot.attempts.filter((attempt) => attempt !== landed), landed]
  return again(32, live(nonce, token, { attempts, claims: [by.claim], committing, wasSettled: true }), told)
}

/** Sends the newest again, but never the bytes of what has ended: where no-op bytes are lacking they are signed. */
function again(row: number, slot: Live, told: Transition['actions']): Transition {
  const lacking = missing(slot)
  const newest = newestAttempt(slot)
  if (lacking !== undefined) return { row, slot, actions: [...told, lacking] }
  if (newest === undefined) return { row, slot, actions: told }
  return { row, slot, actions: [...told, { do: 'resend', hash: newest.hash }] }
}
