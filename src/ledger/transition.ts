import type { SlotEvent } from './event.js'
import { fromFree } from './fromFree.js'
import { fromLive } from './fromLive.js'
import { fromReserved } from './fromReserved.js'
import { fromUsed } from './fromUsed.js'
import { ignored, type Transition } from './result.js'
import type { Slot } from './slot.js'

export type { Transition } from './result.js'

/**
 * The state machine of one nonce: no I/O, no clock, no randomness. `slot` is undefined for a nonce without a
 * slot.
 *
 * @throws Error if a command (reserve, replace, hand out) meets a slot that cannot accept it. That is a bug
 * of this library, unlike a late observation, which is normal and ignored.
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
