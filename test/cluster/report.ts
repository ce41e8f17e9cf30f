import type { createColors } from 'picocolors'
import type { ClusterResult, Rate, TakeoverTimes } from './result.js'

type Colors = ReturnType<typeof createColors>

const LINES_MAX = 40

/** The report that people read. */
export function renderReport(result: ClusterResult, colors: Colors): string {
  const { processes, keys, seed, seconds, load } = result
  const { killed, stopped, closed } = result.takeovers
  const rows = [
    [
      'transactions',
      `${result.transactions}, of which ${result.executed} executed, and ${result.noops} no-ops`,
    ],
    ['accepted', rate(result.accepted)],
    ['without faults', rate(result.acceptedWithoutFaults)],
    [
      'faults',
      `${result.kills} kills, ${result.stops} stops, ${result.closes} closes, ${databaseOf(result)}`,
    ],
    ['holders', `${result.epochs} times a lane was given to one, ${result.leasesLost} leases lost`],
    ['taken over', `${times(killed)} after a kill`],
    ['', `${times(stopped)} after a stop`],
    ['', `${times(closed)} after a clean close`],
    ...Object.entries(result.told).map(([what, count]) => ['told', `${count} × ${what}`]),
    ...Object.entries(result.troubles).map(([what, count]) => ['besides', `${count} × ${what}`]),
  ]
  const lines = [
    colors.bold(
      `${processes} processes with the same ${keys} keys, seed ${seed}, ${seconds} s, load ${load}`,
    ),
    '',
    ...columns(rows),
    '',
    ...verdict(result, colors),
  ]
  return `${lines.join('\n')}\n`
}

function rate({ transactions, seconds, perSecond }: Rate): string {
  return `${perSecond} a second (${transactions} in ${seconds} s)`
}

function databaseOf({ databaseRestarts }: ClusterResult): string {
  return databaseRestarts > 0
    ? `${databaseRestarts} restart of the database`
    : 'and the database was not restarted'
}

function times({ count, medianMs, maxMs }: TakeoverTimes): string {
  return count === 0 ? '0 times' : `${count} times, median ${medianMs} ms, at most ${maxMs} ms`
}

function verdict(result: ClusterResult, colors: Colors): string[] {
  const { duplicates, lost, gaps, foreign, contradictions, failures, problems } = result
  const text = `duplicates ${duplicates}, lost ${lost}, gaps ${gaps}, foreign ${foreign}, contradictions ${contradictions}, failures ${failures}`
  const lines = [(result.ok ? colors.green : colors.red)(colors.bold(text))]
  for (const problem of problems.slice(0, LINES_MAX)) lines.push(`  ${problem}`)
  if (problems.length > LINES_MAX) lines.push(`  and ${problems.length - LINES_MAX} more`)
  return lines
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(...rows.map(([name = '']) => name.length))
  return rows.map(([name = '', value]) => `  ${name.padEnd(width)}  ${value}`)
}
