import type { Hash, Hex } from 'viem'
import type { Fees } from './fees.js'

/** A sealed block, by number and hash: after a reorg two blocks share a number. */
export type BlockRef = { readonly number: number; readonly hash: Hash }

/** What every list begins with. */
export const NOTHING: readonly never[] = []

/** The list with one more at its end. A list that is spread and then added to is given room for sixteen more. */
export function withLast<T>(list: readonly T[], last: T): readonly T[] {
  return list.length === 0 ? [last] : [...list, last]
}

/** One signed envelope. Journaled before it is sent, and from then on counted as possibly sent, for ever (P2). */
export type Attempt = {
  readonly hash: Hash
  readonly raw: Hex
  readonly fees: Fees
  readonly gas: bigint
  /** The transaction it carries; undefined for a no-op. */
  readonly claim: string | undefined
  /** The epoch of the holder that journaled it. Another epoch's attempt may have been sent by that holder. */
  readonly epoch: number
  /** How often this process handed it to an endpoint. */
  readonly sends: number
  readonly accepted: boolean
  /** The newest sealed block that was known when it was made. What is made later lands above it. */
  readonly madeAt?: BlockRef | undefined
  /** Its bytes go to `send` endpoints alone. Kept with them: whoever sends them again may know nothing else of it. */
  readonly private?: true
}

/**
 * The attempts with one more, the newest. What ended may have been made again, byte for byte: bytes are kept once, as those
 * of what carries them now, since that is what executes where they land.
 */
export function withNewest(attempts: readonly Attempt[], newest: Attempt): readonly Attempt[] {
  return withLast(
    attempts.filter(({ hash }) => hash !== newest.hash),
    newest,
  )
}

/** Why a slot no longer wants its claim to execute: the caller cancelled it, or the lane gave the nonce up. */
export type End = 'cancel' | 'void'

/** What used the nonce of a slot, as far as block contents tell. */
export type UsedBy =
  | { readonly kind: 'claim'; readonly claim: string; readonly hash: Hash | undefined }
  | { readonly kind: 'noop'; readonly hash: Hash }
  /** Something that is no attempt of this slot, or an attempt whose transaction had already ended. */
  | { readonly kind: 'other'; readonly hash: Hash | undefined }
  /** The nonce is used, and nothing can be learnt of by what: history is pruned, say. */
  | { readonly kind: 'unproven' }

type Common = {
  readonly nonce: number
  /** Every attempt ever journaled at this nonce, kept until the slot is final, whoever claims it now. */
  readonly attempts: readonly Attempt[]
}

type Committing = {
  /**
   * Commits of bytes under way for this nonce: each may become an attempt yet, so nothing is concluded from there
   * being none. Not to be read from a store: a later epoch reads after every commit of an earlier one (P7).
   */
  readonly committing: number
}

/** Bound to nothing. One with attempts was freed by an intrinsic rejection. */
export type Hole = Common & { readonly state: 'hole' }

/** Bound to a transaction, with nothing journaled for it yet. The token makes late bytes recognisable. */
export type Reserved = Common &
  Committing & { readonly state: 'reserved'; readonly claim: string; readonly token: number }

/** A nonce that others may have used: handed to outside code, or counted by `pending` before we began. */
export type Outside = Common & { readonly state: 'outside'; readonly origin: 'handedOut' | 'seeded' }

export type Live = Common &
  Committing & {
    readonly state: 'live'
    /** The transactions bound here, the newest last: one, plus those that it replaced on request (P1). */
    readonly claims: readonly string[]
    readonly end: End | undefined
    /**
     * Changes whenever what should be signed here changes: bytes signed under an older token are thrown away. Never
     * given twice within a process; a later process begins above those it reads.
     */
    readonly token: number
    /** Which attempt stands in the pending block of which number. */
    readonly preconfirmed: { readonly hash: Hash; readonly blockNumber: number } | undefined
    /** Another transaction occupies the nonce in the pool: wait for the chain's verdict. */
    readonly displaced: boolean
    /** Refusals that no retry can mend (row 15), since somebody took the bytes. Three of them at the head void the slot. */
    readonly refusals: number
    /** Our own replacements that the pool called underpriced in a row: each makes the next bump larger. */
    readonly underbids: number
    /**
     * A verdict was given here, and taken back: its block left the chain, or the count that it rested on was refuted. The
     * caller of a claim that is still bound was told for good that it landed, and the lane does not give it up any more.
     * Also after row 35, where the claims of the attempts may be bound elsewhere as well.
     */
    readonly wasSettled: boolean
    /** The newest attempt was resent since it was made: the next time it is stuck it is bumped. */
    readonly nudged: boolean
  }

export type Used = Common &
  Committing & {
    readonly state: 'used'
    readonly claims: readonly string[]
    readonly end: End | undefined
    readonly by: UsedBy
    /** The sealed block that used it; undefined while unproven, or on the operator's word. */
    readonly at: BlockRef | undefined
    /** As for a live slot, before this use of the nonce. */
    readonly wasSettled: boolean
    readonly settled: boolean
  }

/** Beyond every reorg: nothing is kept but the nonce. */
export type Final = Common & { readonly state: 'final' }

/** What a lane knows of one nonce. A nonce without a slot is *new* at or above the cursor, and used below the floor. */
export type Slot = Hole | Reserved | Outside | Live | Used | Final

export type SlotState = Slot['state']

/** The attempt that resending concerns: the newest one, which outbids the others. */
export function newestAttempt(slot: Slot): Attempt | undefined {
  return slot.attempts[slot.attempts.length - 1]
}

/** Refusals at the head after which the nonce is voided (row 20). */
export const REFUSALS_MAX = 3

/** Refused as often as it takes, and nothing else is asked for there: as soon as it is the head, a no-op takes its place. */
export function isRefusedForGood(slot: Live): boolean {
  return slot.refusals >= REFUSALS_MAX && slot.end === undefined && !slot.wasSettled
}

/** A block shows that the claim executed here. */
const isUsedBy = (slot: Slot, claim: string): boolean =>
  slot.state === 'used' && slot.by.kind === 'claim' && slot.by.claim === claim

/**
 * Where a claim that has executed at the nonce is bound no longer (row 35): at all other nonces. Where a block shows that it
 * executed at one of those, it is that block which counts, and the claim is not bound at this nonce.
 */
export function unboundBy(slots: readonly Slot[], nonce: number, claim: string): readonly Slot[] {
  const others = slots.filter((slot) => slot.nonce !== nonce)
  return others.some((slot) => isUsedBy(slot, claim)) ? slots.filter((slot) => slot.nonce === nonce) : others
}

/** The transaction that is to execute at this nonce, if any is. */
export function lastClaim(slot: Slot): string | undefined {
  if (slot.state === 'reserved') return slot.claim
  if (slot.state === 'live' || slot.state === 'used') return slot.claims[slot.claims.length - 1]
  return undefined
}

/** Whose bytes belong here now: the claim's, or undefined for a no-op's (and for a nonce without a claim). */
export function wantedClaim(slot: Live): string | undefined {
  return slot.end === undefined ? lastClaim(slot) : undefined
}

/**
 * Whether a store that has the one need not be told of the other. What a later process has no use for is not kept up to
 * date: it takes every attempt as possibly sent and sends it again, and learns the rest anew (P2, row 6).
 */
export function isSameRecord(before: Slot | undefined, after: Slot): boolean {
  if (!isSameAttempts(before?.attempts ?? NOTHING, after.attempts)) return false
  if (after.state === 'reserved')
    return before === undefined || before.state === 'hole' || before.state === 'reserved'
  if (after.state !== 'live' || before?.state !== 'live') return false
  const sameClaims = before.claims.length === after.claims.length && lastClaim(before) === lastClaim(after)
  return sameClaims && before.end === after.end && before.wasSettled === after.wasSettled
}

/** Loops, here and below: each slot that moves is asked this, and a callback would be made anew each time. */
function isSameAttempts(before: readonly Attempt[], after: readonly Attempt[]): boolean {
  if (before.length !== after.length) return false
  for (let index = 0; index < before.length; index++)
    if (before[index]?.hash !== after[index]?.hash) return false
  return true
}

/**
 * Nothing that belongs here is in the store yet, and something is to be: for a transaction, or the no-op of a gap or of
 * what was cancelled while its commit was open.
 */
export function awaitsCommit(slot: Slot | undefined): boolean {
  if (slot?.state !== 'live') return slot?.state === 'reserved'
  for (const { claim } of slot.attempts) if (claim === undefined || slot.claims.includes(claim)) return false
  return true
}

/** Bound here, and no bytes of it were handed over by this process. */
export function isUnsent(slot: Slot | undefined): boolean {
  if (slot?.state === 'reserved') return true
  return slot?.state === 'live' && slot.attempts.every(({ sends }) => sends === 0)
}

/** A nonce is bound when something may still be sent, or was sent, under it. */
export function isBound(slot: Slot | undefined): boolean {
  return slot !== undefined && slot.state !== 'hole'
}

/** What a caller sent, or was handed the nonce for, may execute there. Of no-ops and strangers nobody waits to hear. */
export function concernsCaller(slot: Slot | undefined): boolean {
  if (slot === undefined || slot.state === 'hole' || slot.state === 'final') return false
  if (slot.state === 'reserved' || (slot.state === 'outside' && slot.origin === 'handedOut')) return true
  if (slot.attempts.some(({ claim }) => claim !== undefined)) return true
  return slot.state !== 'outside' && (slot.claims.length > 0 || slot.committing > 0)
}

/** Its nonce is gone on the latest chain we know. */
export function isUsed(slot: Slot | undefined): boolean {
  return slot !== undefined && (slot.state === 'used' || slot.state === 'final')
}
