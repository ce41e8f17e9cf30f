/**
 * How long to wait before the same question is asked again. At the usual pace at first, since an answer is expected soon;
 * with doubled pauses once many of them brought nothing, and at once where there was no answer at all.
 */
export type Pauses = {
  nextMs(): number
  /** It was answered, and what is looked for is not there yet. */
  fruitless(): void
  /** There was no answer. */
  failed(): void
  /** Something else is looked for now, or it was there. */
  reset(): void
}

/** So many fruitless answers in a row change nothing. */
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
      // A pace that is slower than the longest pause stays what it is.
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
