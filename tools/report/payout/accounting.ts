import { formatUnits } from 'viem'
import { csvCell } from './csvCell.js'
import type { PayoutLine, PayoutReport } from './payout.js'
import { STATUSES, utcTime } from './words.js'

const HEAD = [
  'date_utc',
  'recipient',
  'token',
  'amount',
  'fee',
  'hash',
  'block',
  'fee_currency',
  'name',
  'id',
  'note',
  'status',
  'amount_in_file',
  'token_address',
  'line',
  'chain_id',
  'account',
]

/**
 * The lines of a payout for bookkeeping (RFC 4180). `amount` is what the recipient got: 0 for a line that is not
 * paid, empty for one whose end is not known yet. `fee` is the line's share of its transaction's fee, also for
 * a line that reverted. Numbers are exact, with a point and without separators of thousands.
 *
 * It begins with a byte order mark: without one Excel reads UTF-8 as the system's old character set, and names
 * are mangled. Times are without a `T` and a `Z`, because Excel would take them for text.
 */
export function accountingCsv(report: PayoutReport): string {
  const rows = report.lines.map((line) => rowOf(line, report))
  return `\ufeff${[HEAD, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')}`
}

function rowOf(line: PayoutLine, { chain, account }: PayoutReport): readonly unknown[] {
  const { money } = line
  return [
    utcTime(line.time),
    line.to,
    money.symbol,
    paidAmount(line),
    line.feeWei === undefined ? undefined : formatUnits(line.feeWei, 18),
    line.hash,
    line.block,
    line.feeWei === undefined ? undefined : chain.symbol,
    line.name,
    line.id,
    line.note,
    line.status,
    formatUnits(line.amount, money.decimals),
    money.token,
    line.line,
    chain.id,
    account,
  ]
}

function paidAmount({ status, amount, received = amount, money }: PayoutLine): string | undefined {
  const { outcome } = STATUSES[status]
  if (outcome === 'unsure') return undefined
  return outcome === 'paid' ? formatUnits(received, money.decimals) : '0'
}
