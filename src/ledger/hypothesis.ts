import { NOTHING, type Outside } from './slot.js'

/**
 * Nonces that another sender may have used according to a count, with no other information: one range, never
 * a slot for each nonce. The count is a number from a node, so memory and time must not grow in proportion to
 * it.
 */
export type Hypothesis = {
  /** Unused nonces without a slot below this one belong to the range. */
  to: number
  /** The slot of a nonce in the range until its first event: row 8. */
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
