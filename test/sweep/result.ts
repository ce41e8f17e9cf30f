import type { Counts } from './check.js'

/** The sum of all verdicts of a sweep. */
export function totalOf(verdicts: readonly Counts[]): Counts {
  const sum = (of: (verdict: Counts) => number) => verdicts.reduce((total, one) => total + of(one), 0)
  return {
    transactions: sum((one) => one.transactions),
    executed: sum((one) => one.executed),
    noops: sum((one) => one.noops),
    duplicates: sum((one) => one.duplicates),
    lost: sum((one) => one.lost),
    gaps: sum((one) => one.gaps),
    foreign: sum((one) => one.foreign),
    contradictions: sum((one) => one.contradictions),
  }
}

/** The number of occurrences of each text. */
export function countsOf(all: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const one of [...all].sort()) counts[one] = (counts[one] ?? 0) + 1
  return counts
}

/** Removes nonces and ids, so that equal messages are counted together. */
export function withoutNumbers(line: string): string {
  return line.replace(/\d+/g, 'n')
}
