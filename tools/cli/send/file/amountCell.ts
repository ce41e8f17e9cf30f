import { type AmountText, amountOf, noAmount, notANumber, splitAmount } from './amounts.js'
import { type Checks, cellOf } from './check.js'
import { type Moneys, type Named, unitAmong } from './money.js'
import type { Money } from './rows.js'
import type { TableRow } from './table/table.js'
import { clean } from './words/cells.js'
import { type Decimal, readNumber } from './words/numbers.js'

type Paid = { readonly amount: bigint; readonly money: Money }

/** The amount of a row, and the currency that its unit names if its other cells name none. */
export function amountIn(row: TableRow, checks: Checks, named: Named | undefined): Paid {
  const index = checks.columns.at.amount as number
  const inexact = row.inexact?.get(index)
  if (inexact !== undefined) throw new Error(inexact)
  const read = (text: string, notation: Decimal, isRead: IsRead) =>
    readAmount(text, { row, checks, named, notation }, isRead)
  /** The refusals propose only texts that would be paid in this cell. */
  const isRead = (text: string): boolean => {
    try {
      return read(clean(text), checks.decimal, () => false).amount > 0n
    } catch {
      return false
    }
  }
  const notation = row.numbers?.has(index) ? 'point' : checks.decimal
  return read(clean(row.cells[index] ?? ''), notation, isRead)
}

type IsRead = (text: string) => boolean
type Place = {
  readonly row: TableRow
  readonly checks: Checks
  readonly named: Named | undefined
  readonly notation: Decimal
}

function readAmount(text: string, { row, checks, named, notation }: Place, isRead: IsRead): Paid {
  const { columns, moneys, decimal } = checks
  const examples = () => examplesFor(named?.money, moneys, decimal).filter(isRead)
  const parts = splitAmount(text)
  if (parts === undefined) throw new Error(noAmount(text, examples()))
  const exact = readNumber(parts.number, notation)
  if (exact === undefined) throw new Error(notANumber(text, notation, examples()))
  const column = cellOf(row, columns, 'unit') || undefined
  const word = parts.unit ?? column ?? columns.unit
  const ambiguous = word === undefined ? undefined : moneys.bySymbol.get(word.toLowerCase())
  if (ambiguous instanceof Error) throw new Error(`${ambiguous.message}${eitherUnit(parts, isRead)}`)
  const { money, unit: implied } = named ?? moneyByUnit(word, moneys)
  const name = columns.names[columns.at.amount as number] ?? ''
  const sources = {
    cell: parts.unit,
    column,
    head: columns.unit === undefined ? undefined : { unit: columns.unit, name },
    token: implied,
    option: checks.unit,
    format: columns.isSafe ? (money.kind === 'native' ? 'ether' : 'tokens') : undefined,
  }
  const written = notation === decimal ? text : text.replace('.', ',')
  return { amount: amountOf(text, exact, unitAmong(sources, money, { text, written, isRead })), money }
}

function moneyByUnit(word: string | undefined, { bySymbol }: Moneys): Named {
  const token = word === undefined ? undefined : bySymbol.get(word.toLowerCase())
  if (token !== undefined && !(token instanceof Error)) return { money: token }
  throw new Error('does not say which of the tokens it pays: write the symbol beside the amount')
}

/**
 * The units that distinguish the currency of the chain from a token with the same symbol, as far as the row may be in
 * them.
 */
function eitherUnit({ number }: AmountText, isRead: IsRead): string {
  const units = ['ether', 'tokens'].filter((unit) => isRead(`${number} ${unit}`))
  return units.length === 0 ? '' : `: write ${units.map((unit) => `"${unit}"`).join(' or ')}`
}

/** Amounts in all units, the usual one first. */
function examplesFor(money: Money | undefined, moneys: Moneys, decimal: Decimal): readonly string[] {
  const tokens = [...moneys.bySymbol.values()].flatMap((token) =>
    token instanceof Error ? [] : [token.symbol],
  )
  const units = money === undefined ? tokens : money.kind === 'native' ? ['ether'] : [money.symbol, 'tokens']
  const numbers = [decimal === 'point' ? '1.5' : '1,5', '15']
  return numbers.flatMap((number) => [...units.map((unit) => `${number} ${unit}`), number])
}
