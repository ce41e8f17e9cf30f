import { type Colors, columns, tellingsOf, transactionsOf, verdictOf } from '../sweep/report.js'
import type { ClusterResult, Rate, TakeoverTimes } from './result.js'

/** The report for people. */
export function renderReport(result: ClusterResult, colors: Colors): string {
  const { processes, keys, seed, seconds, load } = result
  const { killed, stopped, closed } = result.takeovers
  const rows = [
    ['transactions', transactionsOf(result)],
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
    ...tellingsOf(result),
  ]
  const lines = [
    colors.bold(
      `${processes} processes with the same ${keys} keys, seed ${seed}, ${seconds} s, load ${load}`,
    ),
    '',
    ...columns(rows),
    '',
    ...verdictOf(result, `failures ${result.failures}`, result.problems, colors),
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
