import { isAddressLike } from '../words/cells.js'
import { meaningOf } from '../words/header.js'
import type { Table, TableRow } from './table.js'
import { TableRows } from './tableRows.js'
import { linesIn, type Text } from './text.js'

const RECIPIENT = String.raw`(?:[a-z][a-z0-9-]*:|eip155:\d+:)?0x[0-9a-f]{40}|[0-9a-f]{40}|XE\d\d[0-9A-Z]{30,31}|[^\s,;|=]+\.eth`
const BETWEEN = String.raw`(?:\s*[=:,;|]\s*|\s+)`
const RECIPIENT_FIRST = new RegExp(`^(${RECIPIENT})${BETWEEN}(\\S.*)$`, 'i')
const AMOUNT_FIRST = new RegExp(`^(\\S.*?)${BETWEEN}(${RECIPIENT})$`, 'i')
const PLAIN_AMOUNT = /^[\d.,'’_]+(?:e[+-]?\d+)?(?: ?[^\s\d,;|=]+)?$/i

/** Share of the lines that have to be pairs: the others have mistakes, which are reported. */
const SHARE = 0.8

/** Whether the cells have a recipient, and something beside it. */
export function isPayment(cells: readonly string[]): boolean {
  return cells.some(isAddressLike) && cells.filter((cell) => cell !== '').length > 1
}

/**
 * A list of recipients with one amount each, as disperse tools take it: the two are separated by blanks, an
 * equals sign, or another mark on each line. Undefined if the text is no such list, or if it is CSV as well.
 */
export function listRows(
  text: Text,
  sample: string,
): { readonly table: (encoding: string) => Table } | undefined {
  const lines = sample.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const first = lines[0] === undefined ? undefined : namesOf(lines[0])
  const payments = first ? lines.slice(1) : lines
  const pairs = payments.flatMap((line) => pairOf(line) ?? [])
  if (pairs.length === 0 || pairs.length < SHARE * payments.length) return undefined
  const marks = new Set(pairs.map(({ mark }) => mark))
  // One of these on every line is CSV, which also has quotes.
  if (marks.size === 1 && [',', ';', '|', '\t'].includes([...marks][0] ?? '')) return undefined
  return { table: (encoding) => tableOf(text, encoding) }
}

type Pair = { readonly cells: readonly [string, string]; readonly mark: string }

function pairOf(line: string): Pair | undefined {
  const text = line.trim()
  const found = RECIPIENT_FIRST.exec(text) ?? AMOUNT_FIRST.exec(text)
  const [, left = '', right = ''] = found ?? []
  if (found === null) return undefined
  const between = text.slice(left.length, text.length - right.length).trim()
  const mark = between === '' && text.includes('\t') ? '\t' : between
  const amount = isAddressLike(left) ? right : left
  return PLAIN_AMOUNT.test(amount) ? { cells: [left, right], mark } : undefined
}

/** The two names of the columns, in a first line such as `address amount`. */
function namesOf(line: string): readonly [string, string] | undefined {
  const [left = '', right = '', ...more] = line.trim().split(/[\s=:,;|]+/)
  const roles = new Set([left, right].map((name) => meaningOf(name)?.role))
  return more.length === 0 && roles.has('to') && roles.has('amount') ? [left, right] : undefined
}

function tableOf(text: Text, encoding: string): Table {
  const rows = new TableRows()
  let head: TableRow | undefined
  let comments = 0
  let number = 0
  for (const piece of text.lines())
    for (const line of linesIn(piece)) {
      number++
      if (line.trim() === '') continue
      const cells = pairOf(line)?.cells
      const names = head === undefined && rows.length === 0 ? namesOf(line) : undefined
      if (line.startsWith('#')) comments++
      else if (names) head = { line: number, cells: names }
      else rows.add({ line: number, cells: cells ?? [line.trim()] })
    }
  return {
    format: `a list of recipients and amounts, ${encoding}`,
    head,
    rows,
    problems: [],
    hashes: [],
    leftOut: comments === 0 ? [] : [`${comments} with a comment`],
    pointed: false,
  }
}
