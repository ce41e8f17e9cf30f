import { loadavg } from 'node:os'
import { percentile } from '../../support/statistics.js'
import { type Colors, columns, foundLines } from '../../sweep/report.js'
import type { Hostile } from './hostile.js'
import type { Accepted } from './requests.js'
import type { ServiceOptions } from './run.js'
import type { Verdict } from './verdict.js'

/** From the first try to the 202, in milliseconds. */
export type Times = {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** The output of `--json` for the service. */
export type ServiceResult = Omit<Verdict, 'problems'> & {
  readonly ok: boolean
  readonly processes: number
  readonly keys: number
  readonly seed: number
  readonly node: 'geth' | 'devnet'
  readonly seconds: number
  /** Load average of the machine over the last minute, which includes other programs. */
  readonly load: number
  readonly requests: number
  readonly accepted: Times
  /** Of the requests that were made before the first fault. */
  readonly acceptedWithoutFaults: Times
  readonly kills: number
  readonly stops: number
  readonly ends: number
  readonly lives: number
  /** The answers of the processes to honest callers, each try counted. */
  readonly answers: Readonly<Record<string, number>>
  readonly hostileAnswers: Readonly<Record<string, number>>
  /** Wrong answers to the hostile caller, and requests that were never accepted. */
  readonly failures: number
  readonly deliveries: number
  readonly problems: readonly string[]
}

export function serviceResultOf(run: {
  readonly options: ServiceOptions
  readonly node: ServiceResult['node']
  readonly seconds: number
  readonly accepted: readonly Accepted[]
  readonly calmAtMs: number
  readonly tries: ReadonlyMap<string, number>
  readonly lives: number
  readonly deliveries: number
  readonly hostile: Pick<Hostile, 'answers' | 'unexpected'>
  readonly verdict: Verdict
  readonly failures: readonly string[]
}): ServiceResult {
  const { options, hostile, verdict } = run
  const failures = [...run.failures, ...hostile.unexpected.map((line) => `to the hostile caller: ${line}`)]
  const problems = [...verdict.problems, ...failures]
  const { processes, keys, seed, requests, kills, stops, ends } = options
  return {
    ok: problems.length === 0,
    ...{ processes, keys, seed, node: run.node, requests, kills, stops, ends },
    seconds: Math.round(run.seconds),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    accepted: timesOf(run.accepted),
    acceptedWithoutFaults: timesOf(run.accepted.filter(({ acceptedAtMs }) => acceptedAtMs < run.calmAtMs)),
    lives: run.lives,
    ...verdict,
    deliveries: run.deliveries,
    answers: Object.fromEntries([...run.tries].sort()),
    hostileAnswers: Object.fromEntries([...hostile.answers].sort()),
    failures: failures.length,
    problems,
  }
}

function timesOf(accepted: readonly Accepted[]): Times {
  const times = accepted.map(({ askedAtMs, acceptedAtMs }) => acceptedAtMs - askedAtMs)
  const at = (share: number) => percentile(times, share) ?? 0
  return { count: times.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

/** The report for people. */
export function renderService(result: ServiceResult, colors: Colors): string {
  const { processes, keys, seed, seconds, load, node, problems } = result
  const counts = (all: Readonly<Record<string, number>>) =>
    Object.entries(all).map(([what, count]) => `${count} × ${what}`)
  const rows = [
    ['requests', `${result.requests}, of which ${result.executed} executed`],
    ['accepted', times(result.accepted)],
    ['without faults', times(result.acceptedWithoutFaults)],
    ['faults', `${result.kills} kills, ${result.stops} stops, ${result.ends} ends; ${result.lives} lives`],
    ['webhooks', `${result.deliveries} deliveries, ${result.repeated} of them repeated`],
    ...counts(result.answers).map((line) => ['answers', line]),
    ...counts(result.hostileAnswers).map((line) => ['hostile', line]),
  ]
  const { lost, twice, stranded, contradictions, gaps, unheard, failures } = result
  const verdict = `lost ${lost}, twice ${twice}, stranded ${stranded}, contradictions ${contradictions}, gaps ${gaps}, without a webhook ${unheard}, failures ${failures}`
  const lines = [
    colors.bold(
      `The relayer in ${processes} processes with ${keys} keys on ${node}, seed ${seed}, ${seconds} s, load ${load}`,
    ),
    '',
    ...columns(rows),
    '',
    ...foundLines(result.ok, verdict, problems, colors),
  ]
  return `${lines.join('\n')}\n`
}

function times({ count, p50Ms, p99Ms, maxMs }: Times): string {
  return `${count}: median ${p50Ms} ms, p99 ${p99Ms} ms, at most ${maxMs} ms`
}
