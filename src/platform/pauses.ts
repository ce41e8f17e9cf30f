/**
 * The pause before the same question is asked again. The first pauses have the usual length, because an answer is expected
 * soon. After many fruitless answers the pauses double. After a failed request there is no pause.
 */
export type Pauses = {
  nextMs(): number
  /** The answer came, and the wanted thing does not exist yet. */
  fruitless(): void
  /** The request failed. */
  failed(): void
  /** The question changed, or its answer was found. */
  reset(): void
}

/** This number of fruitless answers in a row does not lengthen the pause. */
const FREE_LOOKS = 25
const DOUBLINGS_MAX = 16

export function createPauses({
  paceMs,
  maxMs,
}: {
  readonly paceMs: () => number
  readonly maxMs: number
}): Pauses {
  let looks = 0
  let failures = 0
  return {
    nextMs() {
      const doublings = Math.min(DOUBLINGS_MAX, Math.max(failures, looks - FREE_LOOKS))
      // A pace slower than the longest pause is kept.
      return Math.max(paceMs(), Math.min(maxMs, paceMs() * 2 ** doublings))
    },
    fruitless() {
      looks++
      failures = 0
    },
    failed() {
      failures++
    },
    reset() {
      looks = 0
      failures = 0
    },
  }
}
