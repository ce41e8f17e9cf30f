import { type Colors, columns, tellingsOf, transactionsOf, verdictOf } from '../sweep/report.js'
import type { CrashResult } from './result.js'

/** The report for people. */
export function renderReport(result: CrashResult, colors: Colors): string {
  const { kills, store, seed, seconds, lanes, restarts, byPoint, randomKills } = result
  const rows = [
    ...Object.entries(byPoint).map(([point, count]) => [point, String(count)]),
    ['at random', String(randomKills)],
  ]
  const rest = [
    ['transactions', transactionsOf(result)],
    ['restarts', `${restarts}, ${result.leasesRunOut} of them after the lease had run out by itself`],
    ['to the first acceptance', spread(result)],
    ...tellingsOf(result),
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
  const { failures, problems } = result
  const shown = problems.map(({ group, what }) => `group ${group}: ${what}`)
  const lines = verdictOf(result, `failed lives ${failures}`, shown, colors)
  for (const replay of new Set(problems.map((problem) => problem.replay))) lines.push(`  again: ${replay}`)
  return lines
}

function spread({ restartToAcceptedMsMedian: median, restartToAcceptedMsP99: p99 }: CrashResult): string {
  return median === null ? 'not seen' : `median ${median} ms, p99 ${p99} ms from the start of the process`
}
