import type { SlotAction, SlotEvent } from './event.js'
import type { Slot } from './slot.js'

/**
 * What became of a slot. `row` is the row of the table that was taken. It is 0 where the table has nothing to say (a
 * duplicate, a late or a contradictory observation): then nothing is to do, and the slot is the very same object
 * unless a fact was noted in it (a send counted, bytes kept that came too late).
 */
export type Transition = {
  readonly row: number
  readonly slot: Slot
  readonly actions: readonly SlotAction[]
}

const COMMANDS: ReadonlySet<SlotEvent['type']> = new Set(['reserve', 'handOut', 'replace'])

/** An observation that says nothing new. A command that cannot be carried out is a bug of ours. */
export function ignored(slot: Slot, event: SlotEvent): Transition {
  if (COMMANDS.has(event.type))
    throw new Error(`ledger: ${event.type} on a ${slot.state} nonce ${slot.nonce}`)
  return { row: 0, slot, actions: [] }
}

/** A fact that is kept without a row of its own. */
export function noted(slot: Slot): Transition {
  return { row: 0, slot, actions: [] }
}
