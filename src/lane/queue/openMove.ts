import type { Slot } from '../../ledger/slot.js'

/**
 * Says how a change of a slot affects an amount that is counted while the slot is open.
 *
 * - `same`: the amount stays. It was counted with the reservation, or the number of attempts has not changed.
 * - `attempts`: recompute the amount from the attempts.
 * - `over`: the slot is no longer open.
 */
export function openMove(before: Slot | undefined, after: Slot): 'same' | 'attempts' | 'over' {
  if (after.state === 'reserved') return 'same'
  if (after.state !== 'live') return 'over'
  return before?.state === 'live' && before.attempts.length === after.attempts.length ? 'same' : 'attempts'
}
