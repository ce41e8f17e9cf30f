import { CsvError, parse } from 'csv-parse/sync'
import { isAddressLike, isAmountLike, shown } from '../words/cells.js'
import { meaningOf } from '../words/header.js'
import { headIndexOf, knownNames, trimEnd } from './head.js'
import { isPayment, listRows } from './list.js'
import type { Problem, Table, TableRow } from './table.js'

const NAMES: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'vertical bars',
}
const SAMPLE_LINES = 100
const SAMPLE_MAX = 65_536

/** A table of text: comma-separated values, or the same with another separator. */
export function readDelimited(given: string, encoding: string): Table {
  const declared = /^"?sep=(.)"?[^\S\n\t]*(?:\n|$)/i.exec(given)
  // An empty line keeps the numbers of the lines below.
  const text = declared ? given.replace(/^.*/, '') : given
  const sample = sampleOf(text)
  const list = declared ? undefined : listRows(text, sample)
  if (list) return list.table(encoding)
  const delimiter = declared?.[1] ?? delimiterOf(sample)
  return readWith(text, delimiter, `CSV with ${NAMES[delimiter] ?? shown(delimiter)}, ${encoding}`)
}

function sampleOf(text: string): string {
  const cut = text.slice(0, SAMPLE_MAX)
  const lines = cut.split('\n', SAMPLE_LINES + 1)
  if (lines.length > SAMPLE_LINES || text.length > SAMPLE_MAX) lines.pop()
  return lines.length === 0 ? cut : lines.join('\n')
}

/** The separator with which the most rows have a recipient and the header has the most known names. */
function delimiterOf(sample: string): string {
  const scored = Object.keys(NAMES)
    .filter((each) => sample.includes(each))
    .map((each) => ({ each, ...scoreOf(sample, each) }))
    .sort((a, b) => b.understood - a.understood || b.even - a.even)
  return scored[0]?.each ?? ','
}

/** Rows that are understood, and the share of rows with as many cells as the first one. */
function scoreOf(sample: string, delimiter: string): { understood: number; even: number } {
  const rows = recordsOf(sample, delimiter, { isSample: true }).rows.map(({ cells }) => trimEnd(cells))
  const understood = rows.filter((cells) => cells.length > 1 && cells.some(isAddressLike)).length
  const head = rows[headIndexOf(rows) ?? -1]
  const widths = rows.map(({ length }) => length)
  const wide = (head ?? rows[0])?.length ?? 0
  return {
    understood: understood + (head && knownNames(head) > 1 ? 2 : 0),
    even: wide < 2 ? 0 : widths.filter((width) => width === wide).length / Math.max(1, rows.length),
  }
}

function readWith(text: string, delimiter: string, format: string): Table {
  const plain = straightQuotes(text, delimiter)
  const first = recordsOf(sampleOf(plain), delimiter, { isSample: true }).rows
  const index = headIndexOf(first.map(({ cells }) => cells))
  const head = index === undefined ? undefined : first[index]
  const above = index === undefined ? [] : first.slice(0, index).filter(({ cells }) => !isComment(cells))
  const free = head === undefined ? first.some(({ cells }) => hasOwnName(cells)) : beginsFreely(head.cells)
  const body = recordsOf(plain, delimiter, { comments: !free, after: head?.line ?? 0 })
  const sorted = free ? withoutComments(body.rows) : { rows: body.rows, problems: [], hashes: [] }
  const rows = sorted.rows.filter(({ cells }) => !isRule(cells))
  return {
    format,
    head,
    rows,
    problems: [...body.problems, ...sorted.problems, ...swallowed(rows), ...(free ? [] : errorValues(plain))],
    hashes: sorted.hashes,
    leftOut: [
      ...(above.length === 0 ? [] : [`${above.length} above the names of the columns`]),
      ...(free ? countOf(body.rows.length - sorted.rows.length) : commentsOf(plain, head)),
    ],
    pointed: false,
  }
}

type Reading = { readonly isSample?: boolean; readonly comments?: boolean; readonly after?: number }
type Records = { readonly rows: TableRow[]; readonly problems: readonly Problem[] }

function recordsOf(text: string, delimiter: string, { isSample, comments, after = 0 }: Reading): Records {
  const rows: TableRow[] = []
  // The parser trims tabs too, which would join cells that tabs separate.
  const trim = delimiter !== '\t'
  const on_record = (cells: string[], { lines }: { lines: number }) => {
    const line = lines - breaksIn(cells)
    if (line <= after || cells.every(isEmpty)) return null
    // A copy has no room for further cells, which is most of the memory of a large file.
    rows.push({ line, cells: trim ? cells.slice() : cells.map(trimmed) })
    return null
  }
  try {
    parse(text, {
      bom: true,
      delimiter,
      record_delimiter: ['\n'],
      comment: comments ? '#' : null,
      comment_no_infix: true,
      relax_quotes: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim,
      on_record: on_record as never,
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const line = Number((error as { lines?: number }).lines ?? 1)
    return { rows, problems: isSample ? [] : [{ line, message: quoteMessage(error) }] }
  }
  return { rows, problems: [] }
}

const trimmed = (cell: string) => cell.trim()
const isEmpty = (cell: string) => cell === '' || cell.trim() === ''

function quoteMessage({ code }: CsvError): string {
  return code === 'CSV_QUOTE_NOT_CLOSED'
    ? 'has a quotation mark that is not closed, here or above: add it, or write "" for a mark within a cell'
    : 'has text beside a cell in quotation marks: put all of the cell into them, and write "" for a mark within it'
}

function breaksIn(cells: readonly string[]): number {
  let breaks = 0
  for (const cell of cells) if (cell.includes('\n')) breaks += cell.split('\n').length - 1
  return breaks
}

/** A missing quotation mark makes payments part of the cell above them. */
function swallowed(rows: readonly TableRow[]): readonly Problem[] {
  return rows
    .filter(({ cells }) => cells.some((cell) => cell.includes('\n') && /0x[0-9a-f]{40}/i.test(cell)))
    .map(({ line }) => ({
      line,
      message:
        'has a cell with a line break and an address in it: close the quotation mark, or write "" for a mark within a cell',
    }))
}

const ERROR_VALUE = /^["']?(#(?:[¡¿]?[\p{Lu}\d/_]+[!?]|N\/?[AVD]))["']?\s*[,;\t|].*$/gmu

/** A row whose first cell is an error value of a spreadsheet is no comment. */
function errorValues(text: string): readonly Problem[] {
  return [...text.matchAll(ERROR_VALUE)].map(({ 1: value = '', index }) => ({
    line: text.slice(0, index).split('\n').length,
    message: `begins with ${shown(value)}, an error value of a spreadsheet: correct the formula there, and save the file again`,
  }))
}

/** Whether a line may begin with # although it is no comment, because any text may stand in its first cell. */
function beginsFreely([name = '']: readonly string[]): boolean {
  const role = meaningOf(name.replace(/^#\s*(?=.)/, ''))?.role
  return role === undefined || role === 'id' || role === 'note' || role === 'from' || role === 'status'
}

const isComment = ([first = '']: readonly string[]) => first.startsWith('#')

/** The line below the header of a table in Markdown. */
const isRule = (cells: readonly string[]) => cells.every((cell) => /^(?::?-{2,}:?)?$/.test(cell))

/** Without names of columns: whether the row begins with an id or a name, and pays below it. */
function hasOwnName(cells: readonly string[]): boolean {
  const [first = ''] = cells
  const name = first.replace(/^#\s*/, '')
  return (
    cells.length > 2 && isPayment(cells) && !isAddressLike(name) && (first !== name || !isAmountLike(name))
  )
}

/**
 * Decides about lines that begin with # where an id or a remark may begin so. A line without a payment is a
 * comment. A payment with an id such as #17 is a row. "# 17" may be either, so it is refused.
 */
function withoutComments(rows: readonly TableRow[]) {
  const problems: Problem[] = []
  const hashes: number[] = []
  const left = rows.filter(({ line, cells }) => {
    if (!isComment(cells)) return true
    if (!isPayment(cells)) return false
    if (/^#+(?:\s|$)/.test(cells[0] ?? '')) {
      const message = `begins with ${shown(cells[0] ?? '')} and has a payment: delete the line if it is a comment, else write the cell without the # or without the blank after it`
      problems.push({ line, message })
      return false
    }
    hashes.push(line)
    return true
  })
  return { rows: left, problems, hashes: hashes.length === left.length ? [] : hashes }
}

/** For display, because a payment may be missing from the file by mistake. */
function commentsOf(text: string, head: TableRow | undefined): readonly string[] {
  const own = head?.cells[0]?.startsWith('#') ? 1 : 0
  const payments = [...text.matchAll(/^#.*0x[0-9a-f]{40}/gim)].map(
    ({ index }) => text.slice(0, index).split('\n').length,
  )
  const list = `${payments.length === 1 ? 'line' : 'lines'} ${payments.slice(0, LISTED_MAX).join(', ')}`
  return [
    ...countOf([...text.matchAll(/^#/gm)].length - own),
    ...(payments.length === 0 ? [] : [`with an address in a comment: ${list}`]),
  ]
}

const LISTED_MAX = 5
const countOf = (comments: number) => (comments === 0 ? [] : [`${comments} with a comment`])

/** Writes the quotation marks of a text processor around a cell as those of CSV, unless the file has both. */
function straightQuotes(text: string, delimiter: string): string {
  if (text.includes('"') || !/[“”„]/.test(text)) return text
  const mark = delimiter.replace(/[|\\^$.*+?()[\]{}]/g, '\\$&')
  const cell = new RegExp(`(^|${mark})([^\\S\\n\\t]*)[“”„]([^“”„\\n]*)[“”]([^\\S\\n\\t]*)(?=${mark}|$)`, 'gm')
  return text.replace(
    cell,
    (_, before: string, left: string, inside: string, right: string) => `${before}${left}"${inside}"${right}`,
  )
}
