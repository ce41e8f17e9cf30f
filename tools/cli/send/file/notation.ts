import { splitAmount } from './amounts.js'
import type { Columns } from './columns.js'
import { type Table, Unreadable } from './table/table.js'
import { clean, shown } from './words/cells.js'
import { type Decimal, notationOf } from './words/numbers.js'

/** The first cell with each kind of evidence. */
type Evidence = Partial<Record<Decimal | 'either', { readonly line: number; readonly text: string }>>

/**
 * The decimal mark of the amounts, which the whole column has to agree on.
 * @throws Unreadable with both readings if the column does not say it
 */
export function decimalOf({ rows, pointed }: Table, { at }: Columns, option: Decimal | undefined): Decimal {
  const index = at.amount
  if (option !== undefined || index === undefined) return option ?? 'point'
  const found: Evidence = {}
  for (const { line, cells, numbers, inexact } of rows) {
    if (numbers?.has(index) || inexact?.has(index)) continue
    const text = clean(cells[index] ?? '')
    const number = splitAmount(text)?.number
    const notation = number === undefined ? 'none' : notationOf(number)
    if (notation === 'none') continue
    const kind = notation === 'either' && pointed && !number?.includes(',') ? 'point' : notation
    found[kind] ??= { line, text }
  }
  const { point, comma, either } = found
  if (point && comma)
    throw new Unreadable(
      `has amounts with a decimal point (line ${point.line}, ${shown(point.text)}) and with a decimal comma (line ${comma.line}, ${shown(comma.text)}): say --decimal point or --decimal comma, and correct the others.`,
    )
  if (point || comma || !either) return comma ? 'comma' : 'point'
  const number = splitAmount(either.text)?.number ?? ''
  const isComma = number.includes(',')
  const [small, large] = [number.replace(',', '.'), number.replace(/[.,]/, '')]
  throw new Unreadable(
    `has amounts with two readings: line ${either.line}, ${shown(either.text)}, is ${large} or ${small}. Say --decimal ${isComma ? 'point' : 'comma'} for ${large}, or --decimal ${isComma ? 'comma' : 'point'} for ${small}.`,
  )
}
