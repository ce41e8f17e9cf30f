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

/**
 * An endpoint that accepts nothing for this time is shut. One with a limit accepts something in each second, and
 * hears of the next one a moment late.
 */
const SHUT_MS = 1_250

/** Recognises an endpoint that refuses everything for a while. */
export function createShut(initial: Belief) {
  // The belief after the first objection since units passed.
  let kept = initial
  let isFirst = false
  // The least number of units that was refused since then although none had passed for `SHUT_MS`.
  let refusedMin = Number.POSITIVE_INFINITY
  let hasPassed = true
  // When a unit last passed, or the first one was refused.
  let passedMs: number | undefined

  return {
    denied(units: number, nowMs: number, belief: Belief): void {
      passedMs ??= nowMs
      isFirst = hasPassed
      hasPassed = false
      if (isFirst) {
        kept = belief
        refusedMin = Number.POSITIVE_INFINITY
      }
      if (nowMs - passedMs >= SHUT_MS) refusedMin = Math.min(refusedMin, units)
    },
    concluded(belief: Belief): void {
      if (isFirst) kept = belief
    },
    /** `through`: the units of the last second. Returns the belief to go back to if the endpoint was shut. */
    passed(through: number, nowMs: number): Belief | undefined {
      hasPassed = true
      passedMs = nowMs
      if (through < refusedMin) return undefined
      refusedMin = Number.POSITIVE_INFINITY
      return kept
    },
  }
}
