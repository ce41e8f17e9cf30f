import type { SlotAction, SlotEvent } from './event.js'
import type { Slot } from './slot.js'

/**
 * The result of one event for a slot. `row` is the row of the table that applied. It is 0 if the table has no
 * row for the event (a duplicate, a late or a contradictory observation). In that case there are no actions,
 * and the slot is the very same object unless a fact was recorded in it (a send counted, late bytes kept).
 */
export type Transition = {
  readonly row: number
  readonly slot: Slot
  readonly actions: readonly SlotAction[]
}

const COMMANDS: ReadonlySet<SlotEvent['type']> = new Set(['reserve', 'handOut', 'replace'])

/**
 * An observation without new information is ignored. A command that cannot be carried out is a bug of this
 * library.
 */
export function ignored(slot: Slot, event: SlotEvent): Transition {
  if (COMMANDS.has(event.type))
    throw new Error(`ledger: ${event.type} on a ${slot.state} nonce ${slot.nonce}`)
  return { row: 0, slot, actions: [] }
}

/** A fact that is recorded without a row of its own. */
export function noted(slot: Slot): Transition {
  return { row: 0, slot, actions: [] }
}
