import type { createColors } from 'picocolors'
import type { Counts } from './check.js'

export type Colors = ReturnType<typeof createColors>

const PROBLEMS_MAX = 40

/** The counts of the transactions, as text. */
export function transactionsOf({ transactions, executed, noops }: Counts): string {
  return `${transactions}, of which ${executed} executed, and ${noops} no-ops`
}

/** The findings, and the first problems. `failures` describes problems apart from the chain. */
export function verdictOf(
  result: Counts & { readonly ok: boolean },
  failures: string,
  problems: readonly string[],
  colors: Colors,
): string[] {
  const { duplicates, lost, gaps, foreign, contradictions } = result
  const text = `duplicates ${duplicates}, lost ${lost}, gaps ${gaps}, foreign ${foreign}, contradictions ${contradictions}, ${failures}`
  return foundLines(result.ok, text, problems, colors)
}

/** One line with the verdict, and the first of the problems. */
export function foundLines(ok: boolean, text: string, problems: readonly string[], colors: Colors): string[] {
  const lines = [(ok ? colors.green : colors.red)(colors.bold(text))]
  for (const problem of problems.slice(0, PROBLEMS_MAX)) lines.push(`  ${problem}`)
  if (problems.length > PROBLEMS_MAX) lines.push(`  and ${problems.length - PROBLEMS_MAX} more`)
  return lines
}

/** A row for each count of answers, and of errors and warnings. */
export function reportRows(result: {
  readonly reported: Readonly<Record<string, number>>
  readonly troubles: Readonly<Record<string, number>>
}): string[][] {
  return [
    ...Object.entries(result.reported).map(([what, count]) => ['reported', `${count} × ${what}`]),
    ...Object.entries(result.troubles).map(([what, count]) => ['besides', `${count} × ${what}`]),
  ]
}

export function columns(rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(...rows.map(([name = '']) => name.length))
  return rows.map(([name = '', value]) => `  ${name.padEnd(width)}  ${value}`)
}

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
