import { CsvError, type Options, Parser } from 'csv-parse'
import { isAddressLike, isAmountLike, shown } from '../words/cells.js'
import { meaningOf } from '../words/header.js'
import { headIndexOf, knownNames, trimEnd } from './head.js'
import { isPayment, listRows } from './list.js'
import type { Problem, Table, TableRow } from './table.js'
import { TableRows } from './tableRows.js'
import { START, type Text, textOf } from './text.js'

const NAMES: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'vertical bars',
}
const SAMPLE_LINES = 100

/** A table of text: comma-separated values, or the same with another separator. */
export function readDelimited(given: Text, encoding: string): Table {
  const declared = /^"?sep=(.)"?[^\S\n\t]*(?:\n|$)/i.exec(given.start)
  const text = declared ? withoutFirstLine(given) : given
  const sample = sampleOf(text.start)
  const list = declared ? undefined : listRows(text, sample)
  if (list) return list.table(encoding)
  const delimiter = declared?.[1] ?? delimiterOf(sample)
  return readWith(text, delimiter, `CSV with ${NAMES[delimiter] ?? shown(delimiter)}, ${encoding}`)
}

/** An empty line keeps the numbers of the lines below. */
function withoutFirstLine(text: Text): Text {
  return textOf(function* () {
    let isFirst = true
    for (const piece of text.lines()) {
      yield isFirst ? piece.replace(/^.*/, '') : piece
      isFirst = false
    }
  })
}

function sampleOf(start: string): string {
  const cut = start.slice(0, START)
  const lines = cut.split('\n', SAMPLE_LINES + 1)
  if (lines.length > SAMPLE_LINES || start.length > START) lines.pop()
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
  const rows = rowsOf(sample, delimiter).map(({ cells }) => trimEnd(cells))
  const understood = rows.filter((cells) => cells.length > 1 && cells.some(isAddressLike)).length
  const head = rows[headIndexOf(rows) ?? -1]
  const widths = rows.map(({ length }) => length)
  const wide = (head ?? rows[0])?.length ?? 0
  return {
    understood: understood + (head && knownNames(head) > 1 ? 2 : 0),
    even: wide < 2 ? 0 : widths.filter((width) => width === wide).length / Math.max(1, rows.length),
  }
}

function readWith(text: Text, delimiter: string, format: string): Table {
  const plain = straightener(text, delimiter)
  const first = rowsOf(plain(sampleOf(text.start)), delimiter)
  const index = headIndexOf(first.map(({ cells }) => cells))
  const head = index === undefined ? undefined : first[index]
  const above = index === undefined ? [] : first.slice(0, index).filter(({ cells }) => !isComment(cells))
  const free = head === undefined ? first.some(({ cells }) => hasOwnName(cells)) : beginsFreely(head.cells)
  const remarks = free ? freeRemarks() : commentRemarks(head)
  const rows = new TableRows()
  const problems: Problem[] = []

  function* pieces() {
    let line = 1
    for (const piece of text.lines()) {
      const straight = plain(piece)
      if (!free) remarks.see(straight, line)
      line += breaksIn(piece)
      yield straight
    }
  }

  const failed = readRecords(pieces(), delimiter, !free, (row) => {
    if (row.line <= (head?.line ?? 0) || !remarks.isRow(row) || isRule(row.cells)) return
    if (isSwallowing(row)) problems.push({ line: row.line, message: SWALLOWED })
    rows.add(row)
  })
  return {
    format,
    head,
    rows,
    problems: [...(failed ? [failed] : []), ...problems, ...remarks.problems],
    hashes: remarks.hashes(),
    leftOut: [
      ...(above.length === 0 ? [] : [`${above.length} above the names of the columns`]),
      ...remarks.leftOut(),
    ],
    pointed: false,
  }
}

/** Passes each row to `take`. Returns the problem at which the reading ended, if any. */
function readRecords(
  pieces: Iterable<string>,
  delimiter: string,
  comments: boolean,
  take: (row: TableRow) => void,
): Problem | undefined {
  // The parser trims tabs too, which would join cells that tabs separate.
  const trim = delimiter !== '\t'
  const options = {
    bom: true,
    delimiter,
    record_delimiter: ['\n'],
    comment: comments ? '#' : null,
    comment_no_infix: true,
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim,
  }
  const parser = new RecordParser(options, (cells, lines) => {
    if (!cells.every(isEmpty))
      take({ line: lines - breaksOf(cells), cells: trim ? cells : cells.map(trimmed) })
  })
  try {
    for (const piece of pieces) parser.feed(piece)
    parser.finish()
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    return { line: Number((error as { lines?: number }).lines ?? 1), message: quoteMessage(error) }
  }
  return undefined
}

function rowsOf(text: string, delimiter: string): readonly TableRow[] {
  const rows: TableRow[] = []
  readRecords([text], delimiter, false, (row) => void rows.push(row))
  return rows
}

/**
 * The parser of the library, fed piece by piece. Its option `on_record` passes the line as well, in an object for each
 * record: they double the time, and are most of the memory.
 */
class RecordParser extends Parser {
  readonly #take: (cells: string[], lines: number) => void

  constructor(options: Options, take: (cells: string[], lines: number) => void) {
    super(options)
    this.#take = take
  }

  override push(cells: string[] | null): boolean {
    if (cells !== null) this.#take(cells, this.info.lines)
    return true
  }

  /** @throws CsvError */
  feed(piece: string): void {
    this._transform(Buffer.from(piece), 'utf8', thrown)
  }

  finish(): void {
    this._flush(thrown)
  }
}

function thrown(error?: Error | null): void {
  if (error) throw error
}

const trimmed = (cell: string) => cell.trim()
const isEmpty = (cell: string) => cell === '' || cell.trim() === ''

function quoteMessage({ code }: CsvError): string {
  return code === 'CSV_QUOTE_NOT_CLOSED'
    ? 'has a quotation mark that is not closed, here or above: add it, or write "" for a mark within a cell'
    : 'has text beside a cell in quotation marks: put all of the cell into them, and write "" for a mark within it'
}

function breaksIn(text: string): number {
  let breaks = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) breaks++
  return breaks
}

const breaksOf = (cells: readonly string[]) => cells.reduce((sum, cell) => sum + breaksIn(cell), 0)

/** A missing quotation mark makes payments part of the cell above them. */
const isSwallowing = ({ cells }: TableRow): boolean =>
  cells.some((cell) => cell.includes('\n') && /0x[0-9a-f]{40}/i.test(cell))

const SWALLOWED =
  'has a cell with a line break and an address in it: close the quotation mark, or write "" for a mark within a cell'

const ERROR_VALUE = /^["']?(#(?:[¡¿]?[\p{Lu}\d/_]+[!?]|N\/?[AVD]))["']?\s*[,;\t|].*$/gmu

/** Whether a line that begins with # may be a row, because its first cell may contain any text. */
function beginsFreely([name = '']: readonly string[]): boolean {
  const role = meaningOf(name.replace(/^#\s*(?=.)/, ''))?.role
  return role === undefined || role === 'id' || role === 'note' || role === 'from' || role === 'status'
}

const isComment = ([first = '']: readonly string[]) => first.startsWith('#')

/** The line below the header of a table in Markdown. */
const isRule = (cells: readonly string[]) => cells.every((cell) => /^(?::?-{2,}:?)?$/.test(cell))

/** For a table without a header: whether the row is a payment that begins with an id or a name. */
function hasOwnName(cells: readonly string[]): boolean {
  const [first = ''] = cells
  const name = first.replace(/^#\s*/, '')
  return (
    cells.length > 2 && isPayment(cells) && !isAddressLike(name) && (first !== name || !isAmountLike(name))
  )
}

/** Lines that begin with #: rows, comments, or mistakes. */
type Remarks = {
  /** Looks at a piece of the text. `line` is the number of its first line. */
  see(piece: string, line: number): void
  isRow(row: TableRow): boolean
  readonly problems: readonly Problem[]
  /** Lines that may be comments, and that are rows. */
  hashes(): readonly number[]
  leftOut(): readonly string[]
}

/**
 * Decides about lines that begin with #, if an id or a note may begin with # too. A line without a payment is a
 * comment. A payment with an id such as #17 is a row. "# 17" may be either, so it is refused.
 */
function freeRemarks(): Remarks {
  const problems: Problem[] = []
  const hashes: number[] = []
  let [rows, others] = [0, 0]

  function isRow({ line, cells }: TableRow): boolean {
    if (!isComment(cells)) return true
    if (!isPayment(cells)) return false
    if (/^#+(?:\s|$)/.test(cells[0] ?? '')) {
      const message = `begins with ${shown(cells[0] ?? '')} and has a payment: delete the line if it is a comment, else write the cell without the # or without the blank after it`
      problems.push({ line, message })
      return false
    }
    hashes.push(line)
    return true
  }

  return {
    see: () => {},
    isRow(row) {
      const is = isRow(row)
      if (is) rows++
      else others++
      return is
    },
    problems,
    hashes: () => (hashes.length === rows ? [] : hashes),
    leftOut: () => countOf(others),
  }
}

/** If no cell may begin with #, the parser leaves such lines out. They are shown, because a payment may be missing. */
function commentRemarks(head: TableRow | undefined): Remarks {
  const problems: Problem[] = []
  const payments: number[] = []
  let comments = head?.cells[0]?.startsWith('#') ? -1 : 0

  return {
    see(piece, line) {
      const lineAt = (index: number) => line + breaksIn(piece.slice(0, index))
      comments += [...piece.matchAll(/^#/gm)].length
      for (const { index } of piece.matchAll(/^#.*0x[0-9a-f]{40}/gim)) payments.push(lineAt(index))
      for (const { 1: value = '', index } of piece.matchAll(ERROR_VALUE))
        problems.push({
          line: lineAt(index),
          message: `begins with ${shown(value)}, an error value of a spreadsheet: correct the formula there, and save the file again`,
        })
    },
    isRow: () => true,
    problems,
    hashes: () => [],
    leftOut() {
      const list = `${payments.length === 1 ? 'line' : 'lines'} ${payments.slice(0, LISTED_MAX).join(', ')}`
      return [
        ...countOf(comments),
        ...(payments.length === 0 ? [] : [`with an address in a comment: ${list}`]),
      ]
    },
  }
}

const LISTED_MAX = 5
const countOf = (comments: number) => (comments === 0 ? [] : [`${comments} with a comment`])

/** Writes the quotation marks of a text processor around a cell as those of CSV, unless the file has both. */
function straightener(text: Text, delimiter: string): (piece: string) => string {
  if (!hasCurlyQuotesOnly(text)) return (piece) => piece
  const mark = delimiter.replace(/[|\\^$.*+?()[\]{}]/g, '\\$&')
  const cell = new RegExp(`(^|${mark})([^\\S\\n\\t]*)[“”„]([^“”„\\n]*)[“”]([^\\S\\n\\t]*)(?=${mark}|$)`, 'gm')
  return (piece) =>
    piece.replace(
      cell,
      (_, before: string, left: string, inside: string, right: string) =>
        `${before}${left}"${inside}"${right}`,
    )
}

function hasCurlyQuotesOnly(text: Text): boolean {
  let isCurly = false
  for (const piece of text.lines()) {
    if (piece.includes('"')) return false
    isCurly ||= /[“”„]/.test(piece)
  }
  return isCurly
}
