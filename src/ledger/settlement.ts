import { type EndAs, ignored, noted, type SlotAction, type SlotEvent, type Transition } from './event.js'
import { missing, resendNewest, sentOnceMore, withAttempt } from './sendOutcome.js'
import {
  type Attempt,
  concernsCaller,
  type End,
  type Hole,
  type Live,
  type Outside,
  type Reserved,
  type Slot,
  type Used,
  type UsedBy,
  wantedClaim,
  withLast,
} from './slot.js'
import { live, slotWith } from './slotWith.js'

/**
 * Rows that start from `used`: block contents showed which transaction used the nonce. The verdict waits for
 * `lossDepth`.
 */
export function fromUsed(slot: Used, event: SlotEvent): Transition {
  switch (event.type) {
    case 'sealed':
      return sealed(slot, event)
    case 'evidence': {
      if (slot.by.kind !== 'unproven') return ignored(slot, event)
      const by = { kind: 'other' as const, hash: event.hash }
      return { row: 27, slot: slotWith(slot, { by, at: event.block }), actions: emitForeign(event) }
    }
    case 'resolve':
      return resolve(slot, event)
    case 'cancel':
      // The use of the nonce is not settled: the bound claim must not be queued again, nor be sent after a
      // reorg.
      if (slot.settled || slot.end !== undefined || slot.claims.length === 0) return ignored(slot, event)
      return { row: 21, slot: slotWith(slot, { end: 'cancel' }), actions: [] }
    case 'left':
      if (slot.at === undefined || slot.at.hash !== event.block.hash) return ignored(slot, event)
      return slot.settled ? leftSettled(slot, event.token) : left(slot, event.token)
    case 'refuted':
      // If a block shows the use of the nonce, only a reorg of that block takes it back.
      if (slot.at !== undefined) return ignored(slot, event)
      return slot.settled ? saidInVain(slot, event.token) : refuted(27, slot, event.token)
    case 'unwitnessed':
      if (slot.settled || slot.by.kind !== 'other' || slot.at?.hash !== event.block.hash)
        return ignored(slot, event)
      return refuted(34, slot, event.token)
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
 * Rows 24 and 27: a body of the walked chain contains one of our attempts, which is the strongest evidence
 * there is. After the verdict it reverses only one conclusion: a claim that was queued again must not execute
 * in addition to the attempt of a claim of this nonce. An ended claim stays ended, and a claim that continues
 * after a no-op of ours stays at its nonce.
 */
function sealed(slot: Used, event: Extract<SlotEvent, { type: 'sealed' }>): Transition {
  const bound = boundBefore(slot, event.hash)
  const by = whose(bound, event.hash)
  const next = slotWith(bound, { by, at: event.block })
  const before = bound === slot ? [] : reclaims(bound.claims)
  if (slot.by.kind === 'unproven') return { row: 27, slot: next, actions: before }
  const isOurs = slot.attempts.some(({ hash }) => hash === event.hash)
  if (!event.walked || slot.by.hash === event.hash || !isOurs) return ignored(slot, event)
  const reported: SlotAction[] = isConfirmed(slot.by, by) ? [] : [{ do: 'emit', event: 'corrected' }]
  const again = by.kind === 'claim' ? [...before, ...reclaims(queuedAgain(slot))] : []
  if (again.length === 0) return { row: 24, slot: next, actions: reported }
  return { row: 24, slot: slotWith(next, { settled: false }), actions: [...reported, ...again] }
}

/** The operator named the claim, and the block now names its attempt. */
const isConfirmed = (believed: UsedBy, seen: UsedBy): boolean =>
  believed.kind === 'claim' && seen.kind === 'claim' && believed.claim === seen.claim

/** The claim that the verdict sent to another nonce (row 31). */
const queuedAgain = (slot: Used): readonly string[] =>
  slot.settled && slot.by.kind === 'other' && slot.end === undefined ? slot.claims.slice(-1) : []

/**
 * Row 35 before the verdict: the claim moves to no other nonce, and the transaction that replaced it on
 * request ends with it.
 */
function executedElsewhere(slot: Used, claim: string): Transition {
  if (slot.settled || !slot.claims.includes(claim)) return noted(slot)
  const claims = slot.claims.filter((other) => other !== claim)
  const by: UsedBy =
    slot.by.kind === 'claim' && slot.by.claim === claim ? { kind: 'other', hash: slot.by.hash } : slot.by
  return {
    row: 35,
    slot: slotWith(slot, { claims, by, end: slot.end ?? 'void', settledBefore: true }),
    actions: [],
  }
}

/** Rows 27 and 34: the evidence for the use of the nonce is refuted. No conclusion was drawn from it. */
function refuted(row: number, slot: Used, token: number): Transition {
  const { nonce, attempts } = slot
  return openAgain(row, slot, token, { empty: { state: 'hole', nonce, attempts }, actions: [] })
}

/** The nonce is open again. `empty`: the slot if the lane has neither bytes nor a transaction for it. */
function openAgain(
  row: number,
  slot: Used,
  token: number,
  { empty, actions }: { readonly empty: Slot; readonly actions: Transition['actions'] },
): Transition {
  const { nonce, attempts, claims, end, committing, settledBefore } = slot
  if (attempts.length === 0 && claims.length === 0 && committing === 0) return { row, slot: empty, actions }
  const ended = end ?? (claims.length === 0 ? 'void' : undefined)
  return again(row, live(nonce, token, { attempts, claims, end: ended, committing, settledBefore }), actions)
}

/**
 * Bytes whose commit was under way when the nonce was used. Journaled bytes count as sent, so they are kept.
 */
function late(slot: Used, attempt: Attempt): Used {
  if (slot.attempts.some((known) => known.hash === attempt.hash)) return slot
  return slotWith(slot, { attempts: [attempt, ...slot.attempts] })
}

/**
 * Row 9 after the fact: a use that looked foreign may be the transaction for which the nonce was handed out.
 */
function lateOutside(slot: Used, attempt: Attempt): Transition {
  const kept = late(slot, attempt)
  if (kept === slot || slot.settled) return noted(kept)
  if (slot.by.kind === 'other' && slot.by.hash === undefined) return lookedForAgain(slot, attempt)
  const claims = slot.claims.length === 0 && attempt.claim !== undefined ? [attempt.claim] : slot.claims
  const next = slotWith(kept, { claims })
  const landed = slot.by.kind === 'other' && slot.by.hash === attempt.hash
  return noted(landed ? slotWith(next, { by: whose(next, attempt.hash) }) : next)
}

/**
 * The pair of blocks proved that none of the attempts known at that time used the nonce. It proves nothing
 * about this one.
 */
function lookedForAgain(slot: Used, attempt: Attempt): Transition {
  const { nonce, attempts, claims, end, committing, settledBefore } = slot
  const open: Live = live(nonce, 0, { attempts, claims, end, committing, settledBefore })
  return { ...outsideCommitted(open, attempt), row: 9, actions: [{ do: 'findEvidence' }] }
}

/**
 * Row 9, late: the nonce was voided in the meantime, or the outside code sent another version of its bytes.
 */
export function outsideCommitted(slot: Live, attempt: Attempt): Transition {
  if (slot.attempts.some((other) => other.hash === attempt.hash)) return noted(slot)
  const claims = slot.claims.length === 0 && attempt.claim !== undefined ? [attempt.claim] : slot.claims
  const next: Live = slotWith(slot, { claims })
  const newest = slot.end === undefined && attempt.claim === wantedClaim(next)
  const attempts = newest ? withLast(slot.attempts, attempt) : [attempt, ...slot.attempts]
  return { row: 9, slot: slotWith(next, { attempts }), actions: [] }
}

/** Row 28: no conclusion was drawn yet, so nothing has to be taken back. */
function left(slot: Used, token: number): Transition {
  const { nonce, attempts } = slot
  const empty: Slot = { state: 'outside', nonce, attempts, origin: 'seeded' }
  return openAgain(28, slot, token, { empty, actions: [{ do: 'emit', event: 'reorged' }] })
}

/**
 * Row 32: a reorg removed a block that was deep enough to be settled. The lane is held until an operator has
 * looked.
 */
function leftSettled(slot: Used, token: number): Transition {
  return takenBack(32, slot, token, [
    { do: 'emit', event: 'deepReorg' },
    { do: 'hold', reason: 'deepReorg' },
  ])
}

/** Row 27: an operator named a fate at a nonce that turns out to be unused. */
function saidInVain(slot: Used, token: number): Transition {
  return takenBack(27, slot, token, [{ do: 'emit', event: 'corrected' }])
}

/**
 * The nonce is unused again after its verdict. A transaction that had landed is sent again, so that the
 * reported outcome stays true. Otherwise the nonce is voided.
 */
function takenBack(row: number, slot: Used, token: number, reported: Transition['actions']): Transition {
  const { nonce, by, committing } = slot
  const known = { committing, settledBefore: true } as const
  const landed = slot.attempts.findLast((attempt) => isOf(attempt, by))
  if (landed?.claim === undefined) {
    return again(row, live(nonce, token, { ...known, attempts: slot.attempts, end: 'void' }), reported)
  }
  // The landed attempt becomes the newest, so that it is the one to resend.
  const attempts = [...slot.attempts.filter((attempt) => attempt !== landed), landed]
  return again(row, live(nonce, token, { ...known, attempts, claims: [landed.claim] }), reported)
}

/**
 * True for the attempt of the claim that executed. With only an operator's word the attempt is not known: the
 * claim's newest attempt stands for it.
 */
const isOf = (attempt: Attempt, by: UsedBy): boolean =>
  by.kind === 'claim' && (by.hash === undefined ? attempt.claim === by.claim : attempt.hash === by.hash)

/**
 * Resends the newest attempt, but never the bytes of an ended claim: if the no-op has no bytes yet, it is
 * signed.
 */
function again(row: number, slot: Live, reported: Transition['actions']): Transition {
  const lacking = missing(slot)
  return { row, slot, actions: [...reported, ...(lacking === undefined ? resendNewest(slot) : [lacking])] }
}

type Sealed = Extract<SlotEvent, { type: 'sealed' }>
type Evidence = Extract<SlotEvent, { type: 'evidence' }>
type Unused = Hole | Outside | Reserved | Live

/** Row 24: one of our own attempts is in a sealed block. */
export function usedBy(row: number, slot: Hole | Outside | Live, event: Sealed): Transition {
  const bound = slot.state === 'live' ? boundBefore(slot, event.hash) : slot
  const by = whose(bound, event.hash)
  const reported: SlotAction = { do: 'emit', event: by.kind === 'other' ? 'foreign' : 'sealed' }
  const next = used(bound, by, event.block)
  if (bound === slot) return { row, slot: next, actions: [reported] }
  return { row, slot: next, actions: [{ do: 'emit', event: 'corrected' }, ...reclaims(next.claims)] }
}

/**
 * The slot with the claims that were bound to it before a verdict was taken back (rows 27 and 32), or before
 * a block showed that one of them had executed elsewhere (row 35), if an attempt of one of these claims used
 * the nonce. The claims may be queued or bound elsewhere by now, and must not execute in addition to that
 * attempt.
 */
function boundBefore<slot extends Live | Used>(slot: slot, hash: Attempt['hash']): slot {
  const isVoid = slot.claims.length === 0 || slot.end !== undefined
  if (!slot.settledBefore || !isVoid || whose(slot, hash).kind === 'claim') return slot
  const claims = [...new Set([...slot.attempts.flatMap(({ claim }) => claim ?? []), ...slot.claims])]
  const bound = slotWith<Live | Used>(slot, { claims }) as slot
  return whose(bound, hash).kind === 'claim' ? bound : slot
}

/** Ends these claims wherever they are queued or bound now. */
const reclaims = (claims: readonly string[]): SlotAction[] =>
  claims.map((claim) => ({ do: 'reclaim', claim }))

/** Row 25: a witness shows that none of our transactions used the nonce. */
export function usedByOther(row: number, slot: Hole | Outside | Live, event: Evidence): Transition {
  const by: UsedBy = { kind: 'other', hash: event.hash }
  return { row, slot: used(slot, by, event.block), actions: emitForeign(event) }
}

/** An authorization of our own uses a nonce that was reserved for it: no event is emitted. */
export function emitForeign(event: Evidence): readonly SlotAction[] {
  return event.authorized ? [] : [{ do: 'emit', event: 'foreign' }]
}

/**
 * Row 26: the nonce is used, and the transaction that used it can no longer be determined. The fate of the
 * transactions that were bound to it stays open. `unresolved` is emitted only if a caller is concerned.
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

/** Rows 29 to 31: the verdict, once the block that used the nonce is too deep for a reorg. */
function settle(slot: Used, event: SlotEvent): Transition {
  const settled: Used = slotWith(slot, { settled: true })
  switch (slot.by.kind) {
    case 'unproven':
      return ignored(slot, event)
    case 'claim':
      return { row: 29, slot: settled, actions: landed(slot, slot.by.claim, slot.by.hash) }
    case 'noop': {
      const reported: SlotAction[] = slot.end === 'void' ? [{ do: 'emit', event: 'gapFilled' }] : []
      // A claim moves to another nonce only if another transaction took this one. After a no-op of ours the
      // claim ends.
      return { row: 30, slot: settled, actions: [...reported, ...ended(slot, slot.end ?? 'void')] }
    }
    case 'other':
      return { row: 31, slot: settled, actions: ended(slot, slot.end) }
    default: {
      const impossible: never = slot.by
      throw new Error(`unknown use ${JSON.stringify(impossible)}`)
    }
  }
}

/**
 * Row 27: an operator who checked elsewhere (an explorer, the recipient) reports the fate of a claim.
 * `notExecuted` does not concern the other claims that were bound here: the slot stays unproven until one has
 * executed or none is left.
 */
function resolve(slot: Used, event: Extract<SlotEvent, { type: 'resolve' }>): Transition {
  const { claim, fate } = event
  const index = slot.claims.indexOf(claim)
  if (slot.by.kind !== 'unproven' || index < 0) return ignored(slot, event)
  if (fate === 'executed') {
    return { ...settle(slotWith(slot, { by: { kind: 'claim', claim, hash: undefined } }), event), row: 27 }
  }
  if (slot.claims.length === 1) {
    return { ...settle(slotWith(slot, { by: { kind: 'other', hash: undefined } }), event), row: 27 }
  }
  const claims = slot.claims.filter((other) => other !== claim)
  if (index < slot.claims.length - 1) {
    return { row: 27, slot: slotWith(slot, { claims }), actions: [{ do: 'end', claim, as: 'superseded' }] }
  }
  // The replaced transaction is not wanted either, although no caller cancelled it: if it did not execute, it
  // is voided.
  const as = slot.end === undefined ? 'tooLate' : endAs[slot.end]
  return { row: 27, slot: slotWith(slot, { claims, end: 'void' }), actions: [{ do: 'end', claim, as }] }
}

/** Row 29. A claim that was asked to end and landed nevertheless has executed, and is reported as landed. */
function landed(slot: Used, claim: string, hash: Used['attempts'][number]['hash'] | undefined): SlotAction[] {
  const index = slot.claims.indexOf(claim)
  return slot.claims.map((other, i): SlotAction => {
    if (i === index) return { do: 'landed', claim, hash }
    return { do: 'end', claim: other, as: i < index ? 'superseded' : 'tooLate' }
  })
}

/** Rows 30 and 31: no claim of this slot executed. */
function ended(slot: Used, end: End | undefined): SlotAction[] {
  const last = slot.claims[slot.claims.length - 1]
  const earlier = slot.claims
    .slice(0, -1)
    .map((claim): SlotAction => ({ do: 'end', claim, as: 'superseded' }))
  if (last === undefined) return earlier
  return [
    ...earlier,
    end === undefined ? { do: 'queueAgain', claim: last } : { do: 'end', claim: last, as: endAs[end] },
  ]
}

const endAs: Readonly<Record<End, EndAs>> = { cancel: 'cancelled', void: 'voided' }
