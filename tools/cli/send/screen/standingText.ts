import { count } from '../../shared/output.js'
import { totalsOf, totalsText } from '../file/amountText.js'
import type { Row } from '../file/rows.js'
import type { Standings } from '../pay/standing.js'

/** The results of earlier runs for the lines of a file. */
export function standingsText(lines: number, { between, paid, ...others }: Standings): string {
  const when = between === undefined ? '' : `, ${betweenText(between)}`
  const money = `, ${totalsText(totalsOf(paid))}${when}`
  const first =
    paid.length === 0
      ? `An earlier run paid none of ${count(lines, 'line')}.`
      : `Earlier runs paid ${paid.length === lines ? 'all' : `${number(paid)} of`} ${count(lines, 'line')}${money}.`
  const rest = [
    sentence(others.signed, 'signed already, and only followed'),
    sentence(others.failed, 'sent again, because earlier runs could not send them', 'it'),
    sentence(others.reverted, 'executed and reverted: only --retry-reverted sends them again', 'it'),
    sentence(others.unmoved, 'executed, and moved no tokens: only --retry-reverted sends them again', 'it'),
    sentence(others.cancelled, 'cancelled'),
  ]
  return [first, ...rest.filter((text) => text !== '')].join(' ')
}

function sentence(rows: readonly Row[], state: string, one?: string): string {
  if (rows.length === 0) return ''
  const isOne = rows.length === 1
  const shown = isOne && one !== undefined ? state.replace('them', one) : state
  return `${count(rows.length, 'line')} ${isOne ? 'is' : 'are'} ${shown}.`
}

const number = (rows: readonly Row[]): string => rows.length.toLocaleString('en')

/** `from 2026-11-29 14:02:11 UTC to 2026-11-29 14:03:05 UTC`, or `at …`. */
export function betweenText([first, last]: readonly [first: string, last: string]): string {
  return first === last ? `at ${clockText(first)}` : `from ${clockText(first)} to ${clockText(last)}`
}

const clockText = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`
