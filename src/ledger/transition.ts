import type { SlotAction, SlotEvent } from './event.js'
import { fromFree } from './fromFree.js'
import { fromLive } from './fromLive.js'
import { fromReserved } from './fromReserved.js'
import { fromUsed } from './fromUsed.js'
import type { Slot } from './slot.js'

/**
 * What became of a slot. `row` is the row of the table that was taken; 0 where the event says nothing new (a
 * duplicate, a late or a contradictory observation): the slot is then the very same object, and nothing is to do.
 */
export type Transition = {
  readonly row: number
  readonly slot: Slot
  readonly actions: readonly SlotAction[]
}

/**
 * The machine of one nonce: no I/O, no clock, no randomness. `slot` is undefined for a nonce that has none yet.
 *
 * @throws Error when a command (reserve, replace, hand out) meets a slot that cannot take it: our own bug, unlike
 * an observation, which may always be late and is then ignored.
 */
export function transition(nonce: number, slot: Slot | undefined, event: SlotEvent): Transition {
  const current: Slot = slot ?? { state: 'hole', nonce, attempts: [] }
  switch (current.state) {
    case 'hole':
    case 'outside':
      return fromFree(current, event)
    case 'reserved':
      return fromReserved(current, event)
    case 'live':
      return fromLive(current, event)
    case 'used':
      return fromUsed(current, event)
    case 'final':
      return ignored(current, event)
    default: {
      const impossible: never = current
      throw new Error(`unknown slot state ${JSON.stringify(impossible)}`)
    }
  }
}

const COMMANDS: ReadonlySet<SlotEvent['type']> = new Set(['reserve', 'handOut', 'replace'])

/** An observation that says nothing new. A command that cannot be carried out is a bug of ours. */
export function ignored(slot: Slot, event: SlotEvent): Transition {
  if (COMMANDS.has(event.type)) throw new Error(`ledger: ${event.type} on a ${slot.state} nonce ${slot.nonce}`)
  return { row: 0, slot, actions: [] }
}
