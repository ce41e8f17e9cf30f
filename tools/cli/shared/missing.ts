/** Nonces without a transaction. */
export type Missing = {
  /** Total number. A node may report any nonce, so the list is limited. */
  readonly count: number
  /** The lowest missing nonces, at most `LISTED_MAX`. */
  readonly lowest: readonly number[]
}

export const LISTED_MAX = 1_024

export const NOTHING_MISSING: Missing = { count: 0, lowest: [] }

/** The nonces from `first` to `end` (exclusive) that are absent from `taken`, which is in ascending order. */
export function missingIn(first: number, end: number, taken: readonly number[]): Missing {
  const lowest: number[] = []
  let count = 0
  let from = first
  const gapTo = (to: number) => {
    for (let nonce = from; nonce < to && lowest.length < LISTED_MAX; nonce++) lowest.push(nonce)
    count += Math.max(0, to - from)
  }
  for (const nonce of taken) {
    if (nonce >= end) break
    gapTo(nonce)
    from = Math.max(from, nonce + 1)
  }
  gapTo(end)
  return { count, lowest }
}

const SHOWN_MAX = 8

/** `3, 4, 7`, or the first few of many with the total. */
export function missingText({ count, lowest }: Missing): string {
  if (count <= SHOWN_MAX) return lowest.join(', ')
  return `${lowest.slice(0, SHOWN_MAX).join(', ')}, … (${count.toLocaleString('en')} in all)`
}
