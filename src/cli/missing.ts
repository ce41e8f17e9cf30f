/** Nonces that nothing waits at. */
export type Missing = {
  /** How many there are. A node may name any nonce: no list is as long as that. */
  readonly count: number
  /** The lowest of them, `LISTED_MAX` at most. */
  readonly lowest: readonly number[]
}

export const LISTED_MAX = 1_024

export const NOTHING_MISSING: Missing = { count: 0, lowest: [] }

/** Those from `first` up to, and without, `end` that are not among `taken`, which is in order. */
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

/** `3, 4, 7`, or the first few of many. */
export function missingText({ count, lowest }: Missing): string {
  if (count <= SHOWN_MAX) return lowest.join(', ')
  return `${lowest.slice(0, SHOWN_MAX).join(', ')}, … (${count.toLocaleString('en')} in all)`
}
