import type { Slot } from '../../ledger/slot.js'

/**
 * What a move of a slot means for an amount that is counted while the slot is open. `same`: the amount stands, since it was
 * counted with the reservation, or no attempt came or went. `attempts`: the attempts say the amount anew. `over`: the slot
 * is open no more.
 */
export function openMove(before: Slot | undefined, after: Slot): 'same' | 'attempts' | 'over' {
  if (after.state === 'reserved') return 'same'
  if (after.state !== 'live') return 'over'
  return before?.state === 'live' && before.attempts.length === after.attempts.length ? 'same' : 'attempts'
}
