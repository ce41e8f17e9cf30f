import { percentile, rounded } from '../support/statistics.js'
import type { Counts } from '../sweep/check.js'
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
import type { GroupResult } from './group.js'
import type { CrashOptions } from './options.js'
import { GROUP_KILLS, POINT_NAMES } from './plan.js'

/** The output of `--json`. */
export type CrashResult = Counts & {
  readonly ok: boolean
  readonly store: CrashOptions['store']
  readonly seed: number
  readonly seconds: number
  readonly kills: number
  /** A count for each named point. */
  readonly byPoint: Readonly<Record<string, number>>
  readonly randomKills: number
  /** Lives that began after a kill, or after a life that ended before its kill. */
  readonly restarts: number
  readonly lanes: number
  /** Lives that got stuck or failed by themselves. */
  readonly failures: number
  /** The number of lives that waited until the lease of a dead one had expired. */
  readonly leasesRunOut: number
  /** From the start of the process to the first acceptance, without lives that waited for a lease. */
  readonly restartToAcceptedMsMedian: number | null
  readonly restartToAcceptedMsP99: number | null
  /** The kinds of answers that users received, with their counts. */
  readonly reported: Readonly<Record<string, number>>
  /** Errors and warnings that the senders reported, which should not occur. */
  readonly troubles: Readonly<Record<string, number>>
  readonly problems: readonly Problem[]
}

type Problem = { readonly group: number; readonly what: string; readonly replay: string }

export type Ran = { readonly number: number; readonly result: GroupResult }

export function resultOf(ran: readonly Ran[], options: CrashOptions, seconds: number): CrashResult {
  const results = ran.map(({ result }) => result)
  const sum = (of: (result: GroupResult) => number) => results.reduce((total, one) => total + of(one), 0)
  const killedAt = results.flatMap((one) => one.killedAt)
  const restartMs = results.flatMap((one) => one.restartMs)
  const problems = ran.flatMap(({ number, result }) =>
    [...result.verdict.problems, ...result.problems].map((what) => ({
      group: number,
      what,
      replay: replayOf(options, number),
    })),
  )
  const share = (of: number) => {
    const ms = percentile(restartMs, of)
    return ms === undefined ? null : rounded(ms, 0)
  }
  return {
    ok: problems.length === 0 && ran.length > 0,
    store: options.store,
    seed: options.seed,
    seconds: rounded(seconds, 1),
    kills: killedAt.length,
    byPoint: Object.fromEntries(
      POINT_NAMES.map((name) => [name, killedAt.filter((at) => at === name).length]),
    ),
    randomKills: killedAt.filter((at) => at === 'random').length,
    restarts: sum(({ lives }) => lives - 1),
    lanes: ran.length,
    ...totalOf(results.map(({ verdict }) => verdict)),
    failures: sum((one) => one.problems.length),
    leasesRunOut: sum((one) => one.leasesRunOut),
    restartToAcceptedMsMedian: share(0.5),
    restartToAcceptedMsP99: share(0.99),
    reported: countsOf(results.flatMap((one) => one.reported)),
    troubles: countsOf(results.flatMap((one) => one.troubles.map(withoutNumbers))),
    problems,
  }
}

/** The kills of a group follow from the seed and its number, and it has its own lane. */
function replayOf(options: CrashOptions, group: number): string {
  const { store, seed, postgres } = options
  const url = postgres === undefined ? '' : ' --postgres URL'
  const kills = Math.min(options.kills, (group + 1) * GROUP_KILLS)
  return `npm run crash -- --store ${store} --seed ${seed} --kills ${kills} --group ${group}${url}`
}

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
    ...reportRows(result),
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
