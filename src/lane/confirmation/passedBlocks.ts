/**
 * The blocks that a rising limit has passed. Thousands may wait for the limit while it stands, so only those are
 * given that it has passed since the last look, or all of them after a change below it.
 */
export type PassedBlocks<value> = {
  /** The blocks up to `limit` that were not given yet. */
  upTo(limit: number): readonly (readonly [number, value])[]
  /** Something was added to this block. */
  added(number: number): void
  /** All blocks up to the limit are given once more. */
  again(): void
}

export function createPassedBlocks<value>(byBlock: ReadonlyMap<number, value>): PassedBlocks<value> {
  let passed = Number.NEGATIVE_INFINITY

  return {
    upTo(limit) {
      const from = Math.min(passed, limit)
      passed = limit
      if (limit - from > byBlock.size)
        return [...byBlock].filter(([number]) => number > from && number <= limit)
      const blocks: [number, value][] = []
      for (let number = from + 1; number <= limit; number++) {
        const found = byBlock.get(number)
        if (found !== undefined) blocks.push([number, found])
      }
      return blocks
    },
    added(number) {
      passed = Math.min(passed, number - 1)
    },
    again() {
      passed = Number.NEGATIVE_INFINITY
    },
  }
}
