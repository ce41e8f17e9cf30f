import type { createColors } from 'picocolors'
import type { CrashResult } from './result.js'

type Colors = ReturnType<typeof createColors>

const LINES_MAX = 40

/** The report that people read. */
export function renderReport(result: CrashResult, colors: Colors): string {
  const { kills, store, seed, seconds, lanes, restarts, byPoint, randomKills } = result
  const rows = [
    ...Object.entries(byPoint).map(([point, count]) => [point, String(count)]),
    ['at random', String(randomKills)],
  ]
  const rest = [
    [
      'transactions',
      `${result.transactions}, of which ${result.executed} executed, and ${result.noops} no-ops`,
    ],
    ['restarts', `${restarts}, ${result.leasesRunOut} of them after the lease had run out by itself`],
    ['to the first acceptance', spread(result)],
    ...Object.entries(result.told).map(([what, count]) => ['told', `${count} × ${what}`]),
    ...Object.entries(result.troubles).map(([what, count]) => ['besides', `${count} × ${what}`]),
  ]
  const lines = [
    colors.bold(`${kills} kills of a sender on ${store}, in ${lanes} lanes, seed ${seed}, ${seconds} s`),
    '',
    ...columns(rows),
    '',
    ...columns(rest),
    '',
    ...verdict(result, colors),
  ]
  return `${lines.join('\n')}\n`
}

function verdict(result: CrashResult, colors: Colors): string[] {
  const { duplicates, lost, gaps, foreign, contradictions, failures, problems } = result
  const text = `duplicates ${duplicates}, lost ${lost}, gaps ${gaps}, foreign ${foreign}, contradictions ${contradictions}, failed lives ${failures}`
  const lines = [(result.ok ? colors.green : colors.red)(colors.bold(text))]
  for (const { group, what } of problems.slice(0, LINES_MAX)) lines.push(`  group ${group}: ${what}`)
  if (problems.length > LINES_MAX) lines.push(`  and ${problems.length - LINES_MAX} more`)
  for (const replay of new Set(problems.map((problem) => problem.replay))) lines.push(`  again: ${replay}`)
  return lines
}

function spread({ restartToAcceptedMsMedian: median, restartToAcceptedMsP99: p99 }: CrashResult): string {
  return median === null ? 'not seen' : `median ${median} ms, p99 ${p99} ms from the start of the process`
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(...rows.map(([name = '']) => name.length))
  return rows.map(([name = '', value]) => `  ${name.padEnd(width)}  ${value}`)
}
