import { isAddressLike, shown } from '../words/cells.js'
import { meaningOf } from '../words/header.js'
import { type Problem, type Table, type TableRow, Unreadable } from './table.js'

// JSON.parse would round numbers, so each number becomes a text with this mark before it.
const NUMBER = '\u0000'
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*|[{}[\]\n]/g

type Fields = Readonly<Record<string, unknown>>
type Entry = { readonly line: number; readonly value: unknown }

export function isJson(text: string): boolean {
  return /^\s*(?:\[|\{\s*(?:"|\}))/.test(text)
}

/** An array of objects, an object that maps recipients to amounts, or one object a line. */
export function readJson(text: string, encoding: string): Table {
  const [first = '', ...more] = text.trim().split('\n', 2)
  if (more.length > 0 && isObject(parsed(first))) return byLine(text, encoding)
  const whole = scan(text)
  const value = parsed(whole.text)
  if (value !== undefined) return tableOf(entriesOf(value, whole.starts), 'JSON', encoding, whole.problems)
  if (/^\s*\{[^\S\n]*\S/.test(text)) return byLine(text, encoding)
  throw new Unreadable(
    `begins as JSON and is not: a comma, a quotation mark or a bracket is missing near line ${errorLineOf(text)}.`,
  )
}

function errorLineOf(text: string): number {
  try {
    JSON.parse(text)
  } catch (error) {
    const [, position = String(text.length)] = /position (\d+)/.exec(String(error)) ?? []
    return text.slice(0, Number(position)).split('\n').length
  }
  return 1
}

function byLine(text: string, encoding: string): Table {
  const problems: Problem[] = []
  const entries: Entry[] = []
  for (const [index, each] of text.split('\n').entries()) {
    const line = index + 1
    if (each.trim() === '') continue
    const { text: marked, problems: twice } = scan(each)
    const value = parsed(marked)
    problems.push(...twice.map(({ message }) => ({ line, message })))
    if (isObject(value)) entries.push({ line, value })
    else problems.push({ line, message: 'is no JSON object' })
  }
  return tableOf(entries, 'JSON Lines', encoding, problems)
}

/** Marks numbers, finds fields that are given twice, and finds the lines on which entries of a list begin. */
function scan(text: string) {
  const problems: Problem[] = []
  const starts: number[] = []
  const open: (Set<string> | undefined)[] = []
  let [marked, from, line] = ['', 0, 1]
  for (const match of text.matchAll(TOKEN)) {
    const [token, isKey] = match
    const keys = open.at(-1)
    if (token === '\n') line++
    else if (token === '{' || token === '[') {
      const isEntry = open.length > 0 && keys === undefined && !open.slice(0, -1).includes(undefined)
      if (isEntry) starts.push(line)
      open.push(token === '{' ? new Set() : undefined)
    } else if (token === '}' || token === ']') open.pop()
    else if (isKey !== undefined && keys !== undefined) {
      const key = token.slice(0, token.lastIndexOf('"') + 1)
      if (keys.has(key)) problems.push({ line, message: `has the field ${key} twice` })
      keys.add(key)
    } else if (!token.startsWith('"')) {
      marked += `${text.slice(from, match.index)}"\\u0000${token}"`
      from = match.index + token.length
    }
  }
  return { text: marked + text.slice(from), problems, starts }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function entriesOf(value: unknown, starts: readonly number[]): readonly Entry[] {
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value
    const isOwn = starts.length === list.length && new Set(starts).size === list.length
    return list.map((each, index) => ({ line: isOwn ? (starts[index] ?? 0) : index + 1, value: each }))
  }
  const fields = isObject(value) ? value : {}
  const names = Object.keys(fields)
  if (names.length > 0 && names.every(isAddressLike))
    return names.map((name, index) => ({ line: index + 1, value: [name, fields[name]] }))
  const [list, ...more] = Object.entries(fields).filter(([, each]) => Array.isArray(each))
  if (list === undefined || names.some((name) => meaningOf(name)?.role === 'to'))
    return [{ line: 1, value: fields }]
  const others = names.filter((name) => name !== list[0])
  if (more.length > 0 || others.length > 0)
    throw new Unreadable(
      `has ${shown(list[0])} beside ${others.map(shown).join(', ')}: leave only the list of payments.`,
    )
  return entriesOf(list[1], starts)
}

function tableOf(
  entries: readonly Entry[],
  kind: string,
  encoding: string,
  problems: readonly Problem[],
): Table {
  const names = new Map<string, number>()
  const rows: TableRow[] = []
  const found = [...problems]
  const lists = entries.length > 0 && entries.every(({ value }) => Array.isArray(value))
  for (const { line, value } of entries) {
    if (lists) rows.push(rowOf(line, (value as unknown[]).map(wordOf)))
    else if (isObject(value)) {
      for (const name of Object.keys(value)) if (!names.has(name)) names.set(name, names.size)
      rows.push(
        rowOf(
          line,
          [...names.keys()].map((name) => wordOf(value[name])),
        ),
      )
    } else found.push({ line, message: 'is no JSON object' })
  }
  return {
    format: `${kind}, ${encoding}`,
    head: lists ? undefined : { line: 1, cells: [...names.keys()] },
    rows,
    problems: found,
    hashes: [],
    leftOut: [],
    pointed: true,
  }
}

function rowOf(line: number, words: readonly string[]): TableRow {
  const isNumber = (word: string) => word.startsWith(NUMBER)
  if (!words.some(isNumber)) return { line, cells: words }
  return {
    line,
    cells: words.map((word) => (isNumber(word) ? word.slice(1) : word)),
    numbers: new Set(words.flatMap((word, index) => (isNumber(word) ? [index] : []))),
  }
}

function wordOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return String(value)
  return JSON.stringify(value).replace(/"\\u0000([^"]*)"/g, '$1')
}
