import { linesText } from '../../shared/output.js'
import { splitAmount, unitOf, unitsOf } from './amounts.js'
import { exactAmount, moneyKey, totalsOf, totalsText } from './amountText.js'
import { type Checks, cellOf } from './check.js'
import type { Columns } from './columns.js'
import { Positions } from './positions.js'
import type { Doubt, Money, Problem, Row } from './rows.js'
import type { TableRow } from './table/table.js'
import type { TableRows } from './table/tableRows.js'
import { clean, shown } from './words/cells.js'
import { readNumber, scaled } from './words/numbers.js'

const TOTALS =
  'total totals totale totaal totalt totaux sum summe gesamt gesamtsumme gesamtbetrag endsumme zwischensumme suma somme summa razem celkem összesen toplam jumlah ukupno yhteensä tổng итого всего разом усього σύνολο कुल المجموع الإجمالي סהכ סה"כ 合計 合计 总计 總計 小计 小計 합계 총계 計'
const TOTAL = new RegExp(
  `^(?:grand |sub[- ]?|importe |montant )?(?:${TOTALS.replaceAll(' ', '|')})(?![\\p{L}\\p{M}]).{0,20}$`,
  'iu',
)

const isTotal = (text: string): boolean => TOTAL.test(text)

/** A last row without a recipient: it may be the sum of the rows above. */
export function totalsRowOf(rows: TableRows, { columns }: Checks): TableRow | undefined {
  const last = rows.last()
  if (last === undefined || rows.length < 2) return undefined
  const to = cellOf(last, columns, 'to')
  return (to === '' || isTotal(to)) && cellOf(last, columns, 'amount') !== '' ? last : undefined
}

/** The doubt about a totals row, which is not paid; or the problem if it is not the sum of the rows above. */
export function judgeTotals(
  total: TableRow,
  rows: readonly Row[],
  checks: Checks,
): { readonly doubt?: Doubt; readonly problem?: Problem } {
  const amount = clean(total.cells[checks.columns.at.amount ?? -1] ?? '')
  const sums = totalsOf(rows)
  const label = total.cells.find((cell) => isTotal(clean(cell)))
  const what = label === undefined ? 'has no recipient' : `is a row ${shown(clean(label))}`
  // One line above, and no label: this may as well be a payment whose recipient is missing.
  const isClear = label !== undefined || rows.length > 1
  const equal = isClear
    ? sums.find(({ money, amount: sum }) => isAmount(amount, sum, money, total, checks))
    : undefined
  if (equal)
    return {
      doubt: {
        kind: 'totals',
        lines: [total.line],
        message: `line ${total.line} ${what}, and its amount is the sum of the lines above, ${exactAmount(equal.amount, equal.money)}: it is not paid`,
      },
    }
  if (!isClear) return { problem: { line: total.line, message: what } }
  const list = totalsText(sums)
  const message = `${what}, and its amount ${shown(amount)} is not the sum of the lines above (${list}): correct it or delete it`
  return { problem: { line: total.line, message } }
}

/** Whether the text is this amount. Without a unit it may be in any unit of the rows. */
function isAmount(text: string, sum: bigint, money: Money, row: TableRow, checks: Checks): boolean {
  const { columns, decimal, unit: option } = checks
  const parts = splitAmount(text)
  const isTyped = row.numbers?.has(columns.at.amount ?? -1)
  const exact = parts && readNumber(parts.number, isTyped ? 'point' : decimal)
  if (exact === undefined) return false
  const name = parts?.unit ?? columns.unit ?? option
  const names = name === undefined || columns.isSafe ? unitsOf(money) : [name]
  return names.some((each) => {
    const unit = unitOf(each, money)
    return unit !== undefined && scaled(exact, unit.decimals) === sum
  })
}

/** A row that pays a recipient, is called a total, and has the sum of the rows above. */
export function payingTotal(rows: readonly Row[]): Problem | undefined {
  const last = rows.at(-1)
  if (last === undefined || rows.length < 3 || !last.cells.some((cell) => isTotal(clean(cell))))
    return undefined
  const sum = totalsOf(rows.slice(0, -1)).find(
    ({ money }) => moneyKey(money) === moneyKey(last.money),
  )?.amount
  if (sum !== last.amount) return undefined
  const message =
    'is called a total, has the sum of the lines above, and pays a recipient: delete it or rename it'
  return { line: last.line, message }
}

/** Rows that pay the same amount of the same currency to the same recipient as an earlier row. */
export function repeatedDoubts(rows: readonly Row[]): readonly Doubt[] {
  const lines = repeatedLines(rows)
  if (lines.length === 0) return []
  const one = lines.length === 1
  const message = `${linesText(lines)} ${one ? 'pays' : 'pay'} the same recipient the same amount as an earlier line: ${one ? 'it is paid too' : 'each of them is paid'}`
  return [{ kind: 'repeated', lines, message }]
}

function repeatedLines(rows: readonly Row[]): readonly number[] {
  const contentOf = ({ request: { to, value, data } }: Row) => `${to} ${value} ${data ?? ''}`
  const seen = new Positions(rows.length, (index) => contentOf(rows[index] as Row))
  return rows.flatMap((row, index) => (seen.put(contentOf(row), index) === undefined ? [] : [row.line]))
}

export function hashDoubts(lines: readonly number[]): readonly Doubt[] {
  if (lines.length === 0) return []
  const [they, are] = lines.length === 1 ? ['it', 'is'] : ['they', 'are']
  const message = `${linesText(lines)} ${lines.length === 1 ? 'begins' : 'begin'} with #, and other lines do not: ${they} ${are} no comment here, and ${are} paid`
  return [{ kind: 'comment', lines, message }]
}

/** Spreadsheets write large numbers with six digits, and lose the others. */
export function roundedDoubts(rows: TableRows, { at }: Columns): readonly Doubt[] {
  const index = at.amount
  if (index === undefined) return []
  const lines: number[] = []
  for (const { line, cells } of rows) if (/^\d[.,]\d{5}E\+\d\d\b/.test(cells[index] ?? '')) lines.push(line)
  if (lines.length === 0) return []
  const message = `${linesText(lines)} ${lines.length === 1 ? 'has an amount' : 'have amounts'} with six digits and an exponent, as a spreadsheet writes a number that it has rounded: paid exactly as written`
  return [{ kind: 'rounded', lines, message }]
}
