import type { Hash, Hex } from 'viem'
import type { Fees } from './fees.js'

/** A sealed block, by number and hash: after a reorg two blocks share a number. */
export type BlockRef = { readonly number: number; readonly hash: Hash }

/** The shared empty list. */
export const NOTHING: readonly never[] = []

/**
 * The list with one more element at its end. Spreading a list and then pushing to it would reserve room for
 * sixteen more elements.
 */
export function withLast<T>(list: readonly T[], last: T): readonly T[] {
  return list.length === 0 ? [last] : [...list, last]
}

/**
 * One signed envelope. It is journaled before it is sent, and from then on counts as possibly sent, for ever
 * (P2).
 */
export type Attempt = {
  readonly hash: Hash
  readonly raw: Hex
  readonly fees: Fees
  readonly gas: bigint
  /** The transaction it carries; undefined for a no-op. */
  readonly claim: string | undefined
  /** The epoch of the leader that journaled it. If it is not our own, that leader may have sent it. */
  readonly epoch: number
  /** How often this process handed it to an endpoint. */
  readonly sends: number
  readonly accepted: boolean
  /** The newest sealed block that was known when the attempt was made. The attempt can only land above it. */
  readonly madeAt?: BlockRef | undefined
  /**
   * The bytes go to `send` endpoints only. The flag is stored with the bytes, because a process that resends
   * them may have no other record of the transaction.
   */
  readonly private?: true
}

/**
 * The attempts with one more, the newest. An ended transaction may have been made again, byte for byte. The
 * bytes are kept once, under the claim that they carry now, because that is the claim that executes if they
 * land.
 */
export function withNewest(attempts: readonly Attempt[], newest: Attempt): readonly Attempt[] {
  return withLast(
    attempts.filter(({ hash }) => hash !== newest.hash),
    newest,
  )
}

/**
 * Why a slot no longer wants its claim to execute: the caller cancelled it, or the lane gave the nonce up.
 */
export type End = 'cancel' | 'void'

/** The transaction that used the nonce of a slot, as far as block contents show. */
export type UsedBy =
  | { readonly kind: 'claim'; readonly claim: string; readonly hash: Hash | undefined }
  | { readonly kind: 'noop'; readonly hash: Hash }
  /** A transaction that is no attempt of this slot, or an attempt whose transaction had already ended. */
  | { readonly kind: 'other'; readonly hash: Hash | undefined }
  /**
   * The nonce is used, and the transaction that used it cannot be determined, for example because history is
   * pruned.
   */
  | { readonly kind: 'unproven' }

type Common = {
  readonly nonce: number
  /**
   * Every attempt ever journaled at this nonce, kept until the slot is final, no matter which transaction
   * claims the nonce now.
   */
  readonly attempts: readonly Attempt[]
}

type Committing = {
  /**
   * The number of commits under way for this nonce. Each may still become an attempt, so the absence of
   * attempts proves nothing. The number is not restored from a store: a later epoch reads the store after
   * every commit of an earlier one (P7).
   */
  readonly committing: number
}

/** Bound to nothing. A hole with attempts was freed by an intrinsic rejection. */
export type Hole = Common & { readonly state: 'hole' }

/** Bound to a transaction, with nothing journaled for it yet. The token identifies bytes that arrive late. */
export type Reserved = Common &
  Committing & { readonly state: 'reserved'; readonly claim: string; readonly token: number }

/**
 * A nonce that other senders may have used: handed to outside code, or counted by `pending` before this
 * process started.
 */
export type Outside = Common & { readonly state: 'outside'; readonly origin: 'handedOut' | 'seeded' }

export type Live = Common &
  Committing & {
    readonly state: 'live'
    /**
     * The transactions bound here, the newest last: one transaction, preceded by those it replaced on request
     * (P1).
     */
    readonly claims: readonly string[]
    readonly end: End | undefined
    /**
     * Changes whenever the bytes to be signed here change: bytes signed under an older token are discarded. A
     * token is never reused within a process; a later process starts above the tokens that it reads.
     */
    readonly token: number
    /** The attempt seen in a pending block, and the number of that block. */
    readonly preconfirmed: { readonly hash: Hash; readonly blockNumber: number } | undefined
    /** Another transaction occupies the nonce in the pool: the slot waits for the chain's decision. */
    readonly displaced: boolean
    /**
     * Refusals that no retry can fix (row 15) since an endpoint last accepted the bytes. Three of them at the
     * head void the slot.
     */
    readonly refusals: number
    /** Our own replacements that the pool called underpriced in a row: each makes the next bump larger. */
    readonly replacementRejections: number
    /**
     * A verdict was given here and taken back: its block left the chain, or the count that it relied on was
     * refuted. The caller of a claim that is still bound received a final report that it landed, so the lane
     * does not give the claim up any more. Also set by row 35, after which the claims of the attempts may be
     * bound elsewhere as well.
     */
    readonly settledBefore: boolean
    /** The newest attempt was resent since it was made: the next `stuck` bumps it. */
    readonly resentSinceSigned: boolean
  }

export type Used = Common &
  Committing & {
    readonly state: 'used'
    readonly claims: readonly string[]
    readonly end: End | undefined
    readonly by: UsedBy
    /** The sealed block that used it. Undefined while unproven, or on the operator's word. */
    readonly at: BlockRef | undefined
    /** As in a live slot, before this use of the nonce. */
    readonly settledBefore: boolean
    readonly settled: boolean
  }

/** The slot is beyond every reorg: only its nonce is kept. */
type Final = Common & { readonly state: 'final' }

/**
 * The state of one nonce in a lane. A nonce without a slot is *new* at or above the cursor, and used below
 * the floor.
 */
export type Slot = Hole | Reserved | Outside | Live | Used | Final

export type SlotState = Slot['state']

/** The attempt to resend: the newest one, which outbids the others. */
export function newestAttempt(slot: Slot): Attempt | undefined {
  return slot.attempts[slot.attempts.length - 1]
}

/** Refusals at the head after which the nonce is voided (row 20). */
export const REFUSALS_MAX = 3

/**
 * The slot has reached the limit of refusals and has no other pending request: as soon as it is the head, a
 * no-op takes its place.
 */
export function isRefusedForGood(slot: Live): boolean {
  return slot.refusals >= REFUSALS_MAX && slot.end === undefined && !slot.settledBefore
}

/** True if a block shows that the claim executed here. */
const isUsedBy = (slot: Slot, claim: string): boolean =>
  slot.state === 'used' && slot.by.kind === 'claim' && slot.by.claim === claim

/**
 * The slots from which a claim that has executed at `nonce` is unbound (row 35): those of all other nonces.
 * If a block shows that the claim executed at one of those, that block decides, and the claim is unbound at
 * `nonce` instead.
 */
export function unboundBy(slots: readonly Slot[], nonce: number, claim: string): readonly Slot[] {
  const others = slots.filter((slot) => slot.nonce !== nonce)
  return others.some((slot) => isUsedBy(slot, claim)) ? slots.filter((slot) => slot.nonce === nonce) : others
}

/** The transaction that is to execute at this nonce, if there is one. */
export function lastClaim(slot: Slot): string | undefined {
  if (slot.state === 'reserved') return slot.claim
  if (slot.state === 'live' || slot.state === 'used') return slot.claims[slot.claims.length - 1]
  return undefined
}

/** The claim whose bytes belong here now; undefined if a no-op belongs here, or if the nonce has no claim. */
export function wantedClaim(slot: Live): string | undefined {
  return slot.end === undefined ? lastClaim(slot) : undefined
}

/**
 * Whether a store that contains `before` does not need `after`. Facts that a later process does not use are
 * not kept up to date: it treats every attempt as possibly sent, sends it again, and learns the rest from the
 * nodes (P2, row 6).
 */
export function isSameRecord(before: Slot | undefined, after: Slot): boolean {
  if (!isSameAttempts(before?.attempts ?? NOTHING, after.attempts)) return false
  if (after.state === 'reserved')
    return before === undefined || before.state === 'hole' || before.state === 'reserved'
  if (after.state !== 'live' || before?.state !== 'live') return false
  const sameClaims = before.claims.length === after.claims.length && lastClaim(before) === lastClaim(after)
  return sameClaims && before.end === after.end && before.settledBefore === after.settledBefore
}

/**
 * This function and the next use loops: they run for each slot that changes, and an array method would create
 * a closure each time.
 */
function isSameAttempts(before: readonly Attempt[], after: readonly Attempt[]): boolean {
  if (before.length !== after.length) return false
  for (let index = 0; index < before.length; index++)
    if (before[index]?.hash !== after[index]?.hash) return false
  return true
}

/**
 * Whether the store still lacks the bytes that belong here: those of a transaction, or of the no-op for a gap
 * or for a transaction that was cancelled while its commit was open.
 */
export function awaitsCommit(slot: Slot | undefined): boolean {
  if (slot?.state !== 'live') return slot?.state === 'reserved'
  for (const { claim } of slot.attempts) if (claim === undefined || slot.claims.includes(claim)) return false
  return true
}

/** Whether the nonce is bound and this process has sent none of its bytes. */
export function isUnsent(slot: Slot | undefined): boolean {
  if (slot?.state === 'reserved') return true
  return slot?.state === 'live' && slot.attempts.every(({ sends }) => sends === 0)
}

/** A nonce is bound if something was sent, or may still be sent, under it. */
export function isBound(slot: Slot | undefined): boolean {
  return slot !== undefined && slot.state !== 'hole'
}

/**
 * Whether a caller's transaction may execute here: one that a caller sent, or for which a caller received the
 * nonce. No caller waits for no-ops and for transactions of other senders.
 */
export function concernsCaller(slot: Slot | undefined): boolean {
  if (slot === undefined || slot.state === 'hole' || slot.state === 'final') return false
  if (slot.state === 'reserved' || (slot.state === 'outside' && slot.origin === 'handedOut')) return true
  if (slot.attempts.some(({ claim }) => claim !== undefined)) return true
  return slot.state !== 'outside' && (slot.claims.length > 0 || slot.committing > 0)
}

/** The nonce is used on the latest chain that we know. */
export function isUsed(slot: Slot | undefined): boolean {
  return slot !== undefined && (slot.state === 'used' || slot.state === 'final')
}

/**
 * The lane waits for nothing at a nonce that an operator has settled, or at a nonce that is believed used and
 * concerns no caller. Such a slot only changes if that belief is refuted.
 */
export function isOpen(slot: Slot | undefined): boolean {
  return (
    slot !== undefined && slot.state !== 'final' && slot.state !== 'hole' && !isSaid(slot) && !isNobodys(slot)
  )
}

/** Settled on an operator's word. */
export const isSaid = (slot: Slot | undefined): boolean =>
  slot?.state === 'used' && slot.settled && slot.at === undefined

const isNobodys = (slot: Slot): boolean =>
  slot.state === 'used' && slot.by.kind === 'unproven' && !concernsCaller(slot)
