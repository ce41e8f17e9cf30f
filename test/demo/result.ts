import type { createColors } from 'picocolors'
import type { Address } from 'viem'
import { percentile, rounded } from '../support/statistics.js'
import type { ReportedItem, Verdict } from './check.js'
import type { FaultRow } from './faultRows.js'
import type { ItemRecord } from './records.js'
import type { Traffic } from './target.js'
import type { Notified } from './watch.js'

/**
 * Result object, printed by `--json`. Times are in milliseconds, from the call of `send`. `null` means not
 * measured.
 */
export type DemoResult = Verdict & {
  readonly acceptedPerSecond: number | null
  readonly rpcCallsPerTransaction: number
  readonly httpRequestsPerTransaction: number
  readonly preconfirmedMsP50: number | null
  readonly preconfirmedMsP99: number | null
  readonly sealedMsP50: number | null
  readonly sealedMsP99: number | null
  /** Time from the first `send` until the last transaction was sealed or had ended. */
  readonly timeMs: number
  readonly timedOut: boolean
  readonly seed: number
  readonly node: string
  readonly account: Address
  readonly contract: Address
  readonly blocks: { readonly first: number; readonly last: number }
  readonly faults: { readonly preset: string; readonly struck: readonly FaultRow[] }
  /** Number of events per kind of repair. */
  readonly events: Readonly<Record<string, number>>
  readonly holds: readonly string[]
  readonly senderError: string | null
  /** Reasons of the transactions that were never executed, with their numbers. */
  readonly failures: Readonly<Record<string, number>>
}

export function measure(records: readonly ItemRecord[], traffic: Traffic) {
  const sent = records.map(({ sentAtMs }) => sentAtMs).filter((at) => at > 0)
  const first = sent.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY)
  const accepted = times(records, 'acceptedAtMs')
  const lastAccepted = accepted.reduce((most, at) => Math.max(most, at), 0)
  const took = (stage: 'preconfirmedAtMs' | 'sealedAtMs', share: number) => {
    const waits = records.flatMap((record) =>
      record[stage] === undefined ? [] : [record[stage] - record.sentAtMs],
    )
    return percentile(waits, share) ?? null
  }
  const perTransaction = (count: number) => rounded(count / records.length, 3)
  return {
    // A burst shorter than a millisecond counts as one millisecond.
    acceptedPerSecond:
      accepted.length === 0
        ? null
        : rounded((accepted.length * 1_000) / Math.max(1, lastAccepted - first), 1),
    rpcCallsPerTransaction: perTransaction(traffic.calls),
    httpRequestsPerTransaction: perTransaction(traffic.requests),
    preconfirmedMsP50: took('preconfirmedAtMs', 0.5),
    preconfirmedMsP99: took('preconfirmedAtMs', 0.99),
    sealedMsP50: took('sealedAtMs', 0.5),
    sealedMsP99: took('sealedAtMs', 0.99),
  }
}

function times(records: readonly ItemRecord[], stage: 'acceptedAtMs'): number[] {
  return records.flatMap((record) => record[stage] ?? [])
}

export function notifications(notified: Notified): Pick<DemoResult, 'events' | 'holds' | 'senderError'> {
  return {
    events: Object.fromEntries([...notified.counts].sort(([a], [b]) => a.localeCompare(b))),
    holds: [...notified.holds],
    senderError: notified.firstError ?? null,
  }
}

export function failuresOf(reported: readonly ReportedItem[]): Record<string, number> {
  const failures: Record<string, number> = {}
  for (const said of reported) {
    if (said.outcome === 'notExecuted') failures[said.why] = (failures[said.why] ?? 0) + 1
  }
  return failures
}

type Colors = ReturnType<typeof createColors>

/** The report for people, with optional colours. */
export function renderReport(result: DemoResult, colors: Colors): string {
  const lines = [
    colors.bold(
      `${number(result.requested)} transactions from ${result.account} on ${result.node}, seed ${result.seed}, faults ${result.faults.preset}`,
    ),
    '',
    ...table(summary(result)).map((line) => `  ${line}`),
    '',
    ...faultTable(result.faults.struck, colors),
    ...verdict(result, colors),
  ]
  return `${lines.join('\n')}\n`
}

function summary(result: DemoResult): string[][] {
  const rows = [
    ['time', `${duration(result.timeMs)} until the last transaction was sealed`],
    ['accepted', `${number(result.acceptedPerSecond)} per second`],
    [
      'JSON-RPC',
      `${number(result.rpcCallsPerTransaction)} calls in ${number(result.httpRequestsPerTransaction)} HTTP requests per transaction`,
    ],
    ['to preconfirmed', spread(result.preconfirmedMsP50, result.preconfirmedMsP99)],
    ['to sealed', spread(result.sealedMsP50, result.sealedMsP99)],
    [
      'landed',
      `${number(result.sealed)} sealed (${number(result.reverted)} of which reverted), ${number(result.failed)} failed`,
    ],
  ]
  for (const [why, count] of Object.entries(result.failures)) rows.push(['', `${count} × ${why}`])
  rows.push(['other', `${result.foreign} foreign transactions and ${result.noops} no-ops of the same key`])
  const events = Object.entries(result.events).map(([event, count]) => `${event} ${count}`)
  if (events.length > 0) rows.push(['events', events.join(', ')])
  if (result.holds.length > 0) rows.push(['held', result.holds.join(', ')])
  return rows
}

function faultTable(rows: readonly FaultRow[], colors: Colors): string[] {
  if (rows.length === 0) return []
  const [head, ...body] = table([
    ['fault', 'times', 'example', 'repaired'],
    ...rows.map(({ fault, times, example, repaired }) => [fault, String(times), example, repaired]),
  ])
  return [`  ${colors.dim(head ?? '')}`, ...body.map((line) => `  ${line}`), '']
}

function verdict(result: DemoResult, colors: Colors): string[] {
  const { gaps, duplicates, lost, contradictions, blocks, contract } = result
  const more = contradictions > 0 ? `, contradictions ${contradictions}` : ''
  const text = `gaps ${gaps}, duplicates ${duplicates}, lost ${lost}${more}`
  const against = `according to the sealed blocks ${blocks.first} to ${blocks.last} and the storage of ${contract}`
  const lines = [
    `${result.ok ? colors.green(colors.bold(text)) : colors.red(colors.bold(text))} ${colors.dim(against)}`,
  ]
  if (result.timedOut)
    lines.push(colors.red('The run did not end in time: the report shows its state at the timeout.'))
  for (const problem of result.problems) lines.push(colors.red(`  ${problem}`))
  if (!result.ok && result.senderError !== null)
    lines.push(`  the sender's first error: ${result.senderError}`)
  return lines
}

/** Columns side by side; the last one is not padded. */
function table(rows: readonly (readonly string[])[]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  )
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function spread(median: number | null, p99: number | null): string {
  return median === null ? 'not seen' : `median ${duration(median)}, p99 ${duration(p99 ?? median)}`
}

function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

function number(value: number | null): string {
  return value === null ? 'unknown' : value.toLocaleString('en-US')
}
