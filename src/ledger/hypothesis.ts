import { NOTHING, type Outside } from './slot.js'

/**
 * Nonces of which a count says that somebody sent something there, and nothing else is known: one range, never a slot
 * for each. The count is a number from a node, so that nothing may cost memory or time in proportion to it.
 */
export type Hypothesis = {
  /** Nonces below it that are not used and have no slot are part of it. */
  to: number
  /** The slot that a nonce of the range has until something happens to it: row 8. */
  slotAt(nonce: number): Outside | undefined
}

export function createHypothesis(): Hypothesis {
  return {
    to: 0,
    slotAt(nonce) {
      if (nonce >= this.to) return undefined
      return { state: 'outside', nonce, attempts: NOTHING, origin: 'seeded' }
    },
  }
}
