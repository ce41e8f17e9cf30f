import Table from 'cli-table3'
import type { createColors } from 'picocolors'
import type { Check, Figure } from './claim.js'
import type { ClaimResult, Measured, Results } from './result.js'
import { describeMachine } from './support/machine.js'

type Colors = ReturnType<typeof createColors>

export function renderResults(results: Results, colors: Colors): string {
  return Object.entries(results)
    .map(([name, result]) => `${colors.bold(name)}: ${renderClaim(result as ClaimResult, colors)}`)
    .join('\n')
}

function renderClaim(result: ClaimResult, colors: Colors): string {
  if ('failed' in result) return `${colors.red('FAILED')}\n${result.failed}\n`
  if ('leftOut' in result) return `${colors.yellow('left out')}: ${result.leftOut}\n`
  const { says, figures, checks, notes } = result
  return [
    says,
    renderFigures(figures),
    ...checks.map((check) => (check.passed ? colors.green : colors.red)(checkLine(check))),
    ...notes,
    measuredOn(result),
    '',
  ].join('\n')
}

function renderFigures(figures: readonly Figure[]): string {
  const table = new Table({
    head: ['measure', 'subject', 'median', 'least', 'most', 'unit', 'of'],
    colAligns: ['left', 'left', 'right', 'right', 'right', 'left', 'right'],
    style: { head: [], border: [], compact: true },
  })
  for (const { measure, subject, median, least, most, unit, rounds } of figures)
    table.push([measure, subject, numberText(median), numberText(least), numberText(most), unit, rounds])
  return table.toString()
}

/** `reached: 5.1 times viem (at least 4)`. */
export function checkLine({ passed, value, says, least, most }: Check): string {
  const bounds = [
    ...(least === undefined ? [] : [`at least ${numberText(least)}`]),
    ...(most === undefined ? [] : [`at most ${numberText(most)}`]),
  ].join(', ')
  const shown = value === null ? 'not measured' : numberText(value)
  return `${passed ? 'reached' : 'NOT REACHED'}: ${shown} ${says} (${bounds})`
}

export function measuredOn({ rounds, machine, versions, measuredAt }: Measured): string {
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return `${rounds} ${rounds === 1 ? 'round' : 'rounds'} on ${describeMachine(machine)}, ${measuredAt.slice(0, 10)}; ${packages.join(', ')}.`
}

export function numberText(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: Math.abs(value) >= 1_000 ? 6 : 3 })
}
