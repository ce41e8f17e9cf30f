/** The information of one objection about the limit. */
export type Objection = {
  /** The units that the endpoint accepts per second, judged by the units that passed. */
  readonly taken: number
  /** The upper bound of the units that pass in a second. */
  readonly most: number
}

/** The conclusions about the limit. */
export type Belief = {
  readonly rate: number
  readonly limit: number
  readonly agreed: number
  readonly unconfirmed: Objection | undefined
  readonly proven: number
}

/** Recognises an endpoint that refuses everything for a while. */
export function createShut(initial: Belief) {
  // The belief after the first objection since units passed.
  let kept = initial
  let isFirst = false
  // The least number of units that was refused since then although none had passed for a second.
  let refusedMin = Number.POSITIVE_INFINITY
  let hasPassed = true

  return {
    /** `through`: the units that passed in the last second. */
    denied(units: number, through: number, belief: Belief): void {
      isFirst = hasPassed
      hasPassed = false
      if (isFirst) {
        kept = belief
        refusedMin = Number.POSITIVE_INFINITY
      }
      if (through === 0) refusedMin = Math.min(refusedMin, units)
    },
    concluded(belief: Belief): void {
      if (isFirst) kept = belief
    },
    /** `through`: the units of the last second. Returns the belief to go back to if the endpoint was shut. */
    passed(through: number): Belief | undefined {
      hasPassed = true
      if (through < refusedMin) return undefined
      refusedMin = Number.POSITIVE_INFINITY
      return kept
    },
  }
}
