import { loadavg } from 'node:os'
import { percentile, rounded } from '../support/statistics.js'
import { isAnswer, kindOf } from '../sweep/answers.js'
import type { Counts, Verdict } from '../sweep/check.js'
import {
  type Colors,
  columns,
  countsOf,
  reportRows,
  totalOf,
  transactionsOf,
  verdictOf,
  withoutNumbers,
} from '../sweep/report.js'
import type { Report } from './asks.js'
import type { Lanes, Loss } from './lanes.js'
import type { LanesOptions } from './options.js'
import type { Fault } from './plan.js'

export type Rate = { readonly transactions: number; readonly seconds: number; readonly perSecond: number }

/**
 * The rate from the first ask to the last acceptance. For each transaction the earliest acceptance of any
 * process counts.
 */
export function rateOf(acceptedAtMs: readonly (number | undefined)[], sinceMs: number): Rate {
  const times = acceptedAtMs.filter((atMs) => atMs !== undefined)
  const seconds = (times.reduce((last, atMs) => Math.max(last, atMs), sinceMs) - sinceMs) / 1_000
  return {
    transactions: times.length,
    seconds: rounded(seconds, 2),
    perSecond: seconds > 0 ? Math.round(times.length / seconds) : 0,
  }
}

/** From the kill, the stop or the release of the lease to the first request of the next owner. */
type TakeoverTimes = {
  readonly count: number
  readonly medianMs: number | null
  readonly maxMs: number | null
}

/** The output of `--json`. */
export type ClusterResult = Counts & {
  readonly ok: boolean
  readonly processes: number
  readonly keys: number
  readonly seed: number
  readonly node: LanesOptions['node']
  readonly seconds: number
  /** Load average of the machine over the last minute, which includes other programs. */
  readonly load: number
  readonly accepted: Rate
  readonly acceptedWithoutFaults: Rate
  readonly kills: number
  readonly stops: number
  readonly closes: number
  readonly databaseRestarts: number
  readonly lives: number
  /**
   * Processor time of all processes that closed at the end, divided by the transactions. In a run without
   * faults it indicates the rate of a machine that does nothing else. The node and the database are not
   * included.
   */
  readonly cpuMsPerTransaction: number
  /** How often a lane was granted to an owner, first grants included. */
  readonly epochs: number
  readonly leasesLost: number
  readonly takeovers: Readonly<Record<Loss, TakeoverTimes>>
  /** Processes that ended by themselves or did not end, and promises that did not settle. */
  readonly failures: number
  /** The answers of the library, with their counts. */
  readonly reported: Readonly<Record<string, number>>
  /** Errors and warnings that the senders reported. */
  readonly troubles: Readonly<Record<string, number>>
  readonly problems: readonly string[]
}

export function resultOf(run: {
  readonly options: LanesOptions
  readonly seconds: number
  readonly rate: Rate
  readonly calmRate: Rate
  readonly struck: Readonly<Record<Fault['kind'], number>>
  readonly lanes: Lanes
  readonly lives: number
  readonly reported: readonly Report[]
  readonly verdicts: readonly Verdict[]
  readonly failures: readonly string[]
}): ClusterResult {
  const { options, verdicts, lanes, failures, struck } = run
  const problems = [...verdicts.flatMap((one) => one.problems), ...failures]
  const takeovers = (loss: Loss): TakeoverTimes => {
    const times = lanes.takeovers.filter(({ how }) => how === loss).map(({ timeMs }) => timeMs)
    const [median, max] = [percentile(times, 0.5), percentile(times, 1)]
    return { count: times.length, medianMs: median ?? null, maxMs: max ?? null }
  }
  return {
    ok: problems.length === 0,
    processes: options.processes,
    keys: options.keys,
    seed: options.seed,
    node: options.node,
    seconds: rounded(run.seconds, 1),
    load: rounded(loadavg()[0] ?? 0, 1),
    accepted: run.rate,
    acceptedWithoutFaults: run.calmRate,
    kills: struck.kill,
    stops: struck.stop + struck['stop in a request'],
    closes: struck.close,
    databaseRestarts: struck['restart the database'],
    lives: run.lives,
    cpuMsPerTransaction: rounded(
      run.reported.reduce((sum, report) => sum + (report.report === 'done' ? report.cpuMs : 0), 0) /
        options.transactions,
      2,
    ),
    epochs: lanes.epochs,
    leasesLost: lanes.leasesLost,
    takeovers: {
      killed: takeovers('killed'),
      stopped: takeovers('stopped'),
      closed: takeovers('closed'),
    },
    ...totalOf(verdicts),
    failures: failures.length,
    reported: countsOf(run.reported.flatMap((report) => reportedKind(report) ?? [])),
    troubles: countsOf(
      run.reported.flatMap((report) => (report.report === 'trouble' ? [withoutNumbers(report.message)] : [])),
    ),
    problems,
  }
}

function reportedKind(report: Report): string | undefined {
  if (report.report === 'accepted') return report.report
  return isAnswer(report) ? kindOf(report) : undefined
}

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
    ...reportRows(result),
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
