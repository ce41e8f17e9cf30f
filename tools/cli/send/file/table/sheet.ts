import type { CellObject, WorkBook, WorkSheet } from '@e965/xlsx'
import { clean, shown } from '../words/cells.js'
import { readNumber } from '../words/numbers.js'
import { binaryKindOf, SAVE } from './binary.js'
import { headIndexOf, SEARCHED } from './head.js'
import { type Problem, type Table, type TableRow, Unreadable } from './table.js'
import { TableRows } from './tableRows.js'

// The first bytes of a ZIP archive (xlsx, ods) and of a compound file (xls). The library reads other bytes as text.
const SIGNATURES = [
  [0x50, 0x4b, 0x03, 0x04],
  [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1],
]

export function isSheet(bytes: Uint8Array): boolean {
  return SIGNATURES.some((signature) => signature.every((byte, index) => bytes[index] === byte))
}

/** The sheet of a spreadsheet that has payments, or the one with this name. */
export async function readSheet(bytes: Uint8Array, name: string | undefined): Promise<Table> {
  // A megabyte of code that other files do not need.
  const { read, SSF } = await import('@e965/xlsx')
  let book: WorkBook
  try {
    book = read(bytes, { dense: true, cellNF: true, cellStyles: true, cellText: true, cellHTML: false })
  } catch (error) {
    throw new Unreadable(
      /password/i.test(String(error))
        ? 'is protected by a password: save it as an .xlsx or .csv file without one.'
        : `is no spreadsheet that can be read, but ${binaryKindOf(bytes) ?? 'another document'}: ${SAVE}.`,
    )
  }
  const filled = book.SheetNames.filter((each) => firstOf(rowsIn(book.Sheets[each]), 1).length > 0)
  const chosen = sheetOf(filled, name, (each) => isHidden(book, each))
  const sheet = book.Sheets[chosen] as WorkSheet
  const isDate = (format: string) => SSF.is_date(format)
  const top = firstOf(rowsIn(sheet), SEARCHED).map((row) => rowOf(row, isDate))
  const index = headIndexOf(top.map(({ cells }) => cells))
  const rows = new TableRows()
  const problems: Problem[] = []
  let left = index === undefined ? 0 : index + 1
  for (const row of rowsIn(sheet)) {
    if (left-- > 0) continue
    rows.add(rowOf(row, isDate))
    if (sheet['!rows']?.[row.line - 1]?.hidden)
      problems.push({ line: row.line, message: 'is hidden in the sheet: show it or delete it' })
  }
  return {
    format: `spreadsheet, sheet ${shown(chosen)}`,
    head: index === undefined ? undefined : top[index],
    rows,
    problems,
    hashes: [],
    leftOut: index === undefined || index === 0 ? [] : [`${index} above the names of the columns`],
    pointed: false,
  }
}

function firstOf<item>(items: Iterable<item>, count: number): readonly item[] {
  const first: item[] = []
  for (const item of items) if (first.push(item) === count) break
  return first
}

function isHidden({ Workbook, SheetNames }: WorkBook, name: string): boolean {
  return (Workbook?.Sheets?.[SheetNames.indexOf(name)]?.Hidden ?? 0) !== 0
}

function sheetOf(
  filled: readonly string[],
  name: string | undefined,
  hidden: (name: string) => boolean,
): string {
  const list = filled.map(shown).join(', ')
  if (name !== undefined) {
    const found = filled.find((each) => each === name) ?? filled.find((each) => same(each, name))
    if (found === undefined) throw new Unreadable(`has no sheet ${shown(name)} with cells: it has ${list}.`)
    return found
  }
  const visible = filled.filter((each) => !hidden(each))
  const [first] = visible
  if (first === undefined) throw new Unreadable('has no cells.')
  if (visible.length > 1)
    throw new Unreadable(`has several sheets: ${list}. Choose one: --sheet ${shown(first)}.`)
  return first
}

const same = (a: string, b: string) => a.trim().toLowerCase() === b.trim().toLowerCase()

type Raw = { readonly line: number; readonly cells: readonly (CellObject | undefined)[] }

function* rowsIn(sheet: WorkSheet | undefined): Generator<Raw> {
  const data = (sheet?.['!data'] ?? []) as readonly ((CellObject | undefined)[] | undefined)[]
  // Rows without cells are holes of the array, which `entries` does not skip.
  for (let index = 0; index < data.length; index++) {
    const cells = data[index]
    if (cells?.some((cell) => cell !== undefined && textOf(cell) !== ''))
      yield { line: index + 1, cells: Array.from(cells) }
  }
}

const textOf = ({ t, v, w }: CellObject): string => (t === 'z' ? '' : String(v ?? w ?? '').trim())

function rowOf({ line, cells }: Raw, isDate: (format: string) => boolean): TableRow {
  const numbers = new Set<number>()
  const inexact = new Map<number, string>()
  const texts = cells.map((cell, index) => {
    if (cell === undefined) return ''
    if (cell.t !== 'n') return cell.t === 'e' ? (cell.w ?? '#ERROR') : textOf(cell)
    const { text, why } = numberOf(cell, isDate)
    if (why === undefined) numbers.add(index)
    else inexact.set(index, why)
    return text
  })
  return { line, cells: texts, ...(numbers.size > 0 && { numbers }), ...(inexact.size > 0 && { inexact }) }
}

// A spreadsheet keeps and shows 15 digits.
const DIGITS_MAX = 15
const DIGITS_WHOLE_MAX = 1e15

/** The exact decimal number of a cell, with the unit of its format if it has one. */
function numberOf(
  { v, w, z }: CellObject,
  isDate: (format: string) => boolean,
): { readonly text: string; readonly why?: string } {
  const value = Number(v)
  const text = String(value)
  const digits = text
    .replace(/e.*$/i, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '')
  const seen = (w ?? text).trim()
  if (digits.length > DIGITS_MAX || (value >= DIGITS_WHOLE_MAX && digits.length >= DIGITS_MAX))
    return {
      text,
      why: `has the number ${text}, of which a spreadsheet keeps 15 digits: round it in the sheet, or format the cell as text and type it again`,
    }
  // LibreOffice writes the displayed text of the cell, and no format.
  const isPlain = z === undefined ? w === undefined : z === 'General' || z === '@'
  if (value < 0 || isPlain) return { text }
  const holds = `holds the number ${text} and shows ${seen}`
  if (z !== undefined && isDate(String(z)))
    return {
      text: seen,
      why: `holds a date or a time (${shown(seen)}), which spreadsheets make of amounts: format the cell as text, and type the amount again`,
    }
  if (w === undefined)
    return {
      text,
      why: `holds the number ${text} in a format that cannot be shown (${shown(String(z))}): format the cell as a number`,
    }
  if (/e/i.test(seen)) return { text }
  if (/[%‰]/.test(seen))
    return { text: seen, why: `${holds}: a percentage is no amount, write the amount itself` }
  const [, before = '', number = '', after = ''] = SHOWN.exec(seen) ?? []
  const unit = `${before} ${after}`.trim()
  if (isShownAs(number, value) && !/\d/.test(unit)) return { text: unit === '' ? text : `${text} ${unit}` }
  return { text: seen, why: `${holds}: round it in the sheet, or show all of its digits` }
}

const SHOWN = /^(\D*?)(\d(?:[\d.,'’\s]*\d)?)(.*)$/

/** Whether the text is this number with some decimal mark and separators: the cell says which number it is. */
function isShownAs(text: string, value: number): boolean {
  const number = clean(text)
  return (['point', 'comma'] as const).some((decimal) => {
    const exact = readNumber(number, decimal)
    return exact !== undefined && Number(`${exact.digits}e${-exact.scale}`) === value
  })
}
