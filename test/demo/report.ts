import type { createColors } from 'picocolors'
import type { FaultRow } from './faultRows.js'
import type { DemoResult } from './result.js'

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
