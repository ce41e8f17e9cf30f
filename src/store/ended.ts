import type { Slot } from '../ledger/slot.js'
import type { Stage } from '../types/index.js'

const ENDED: ReadonlySet<Stage> = new Set(['finalized', 'failed', 'cancelled', 'superseded'])

const UNEXECUTED: ReadonlySet<Stage> = new Set(['failed', 'cancelled', 'superseded'])

/** True if a transaction at this stage ended without execution. */
export function hasEndedUnexecuted(stage: Stage): boolean {
  return UNEXECUTED.has(stage)
}

/**
 * True if the id may restart at this stage. A superseded transaction may not: its replacement may have
 * executed the same request.
 */
export function mayRestart(stage: Stage): boolean {
  return stage === 'failed' || stage === 'cancelled'
}

/** The stages before a sealed block: the transaction waits for a nonce, or is in flight. */
export const UNSEALED: readonly Stage[] = ['queued', 'signed', 'accepted', 'preconfirmed']

/** True if a transaction at this stage needs no more work. It is kept for lookups, and deleted by age. */
export function hasEnded(stage: Stage): boolean {
  return ENDED.has(stage)
}

/** The slot is beyond every reorg, or never had an attempt: nothing of it is worth keeping. */
export function isGone(slot: Slot): boolean {
  return slot.state === 'final' || (slot.state === 'hole' && slot.attempts.length === 0)
}
