import { count } from '../../shared/output.js'
import { totalsOf, totalsText } from '../file/amountText.js'
import type { Row } from '../file/rows.js'
import type { Standings } from '../pay/standing.js'

/** What earlier runs did with the lines of a file. */
export function standingsText(lines: number, standings: Standings): string {
  const { paid, signed, reverted, failed, cancelled } = standings
  const parts = [
    part(paid, 'paid'),
    part(signed, 'signed and not in a block yet'),
    part(reverted, 'executed and reverted'),
    part(failed, 'failed without being sent'),
    part(cancelled, 'cancelled'),
  ].filter((each) => each !== undefined)
  if (parts.length === 0) return `An earlier run began, and paid none of the ${count(lines, 'line')}.`
  const money = paid.length === 0 ? '' : ` (${totalsText(totalsOf(paid))} paid)`
  return `Earlier runs: of ${count(lines, 'line')}, ${parts.join(', ')}${money}. No line is paid twice.`
}

const part = (rows: readonly Row[], state: string): string | undefined =>
  rows.length === 0 ? undefined : `${rows.length.toLocaleString('en')} ${state}`
