import { isAddressLike, shown } from '../words/cells.js'
import { meaningOf } from '../words/header.js'
import { type Problem, type Table, type TableRow, Unreadable } from './table.js'
import { TableRows } from './tableRows.js'
import { linesIn, type Text } from './text.js'

// JSON.parse would round numbers, so each number becomes a text with this mark before it.
const NUMBER = '\u0000'
const TOKEN = /"(?:[^"\\]|\\.)*("(\s*:)?)?|-?\d[\d.eE+-]*|[{}[\]\n]/g

type Fields = Readonly<Record<string, unknown>>
type Entry = { readonly line: number; readonly value: unknown }

export function isJson(text: string): boolean {
  return /^\s*(?:\[|\{\s*(?:"|\}))/.test(text)
}

/** An array of objects, an object that maps recipients to amounts, or one object a line. */
export function readJson(source: Text, encoding: string): Table {
  const [first = '', ...more] = source.start.trim().split('\n', 2)
  if (more.length > 0 && isObject(parsed(first))) return byLine(source, encoding)
  const list = listTable(source, encoding)
  if (list !== undefined) return list
  const text = source.whole()
  const table = wholeTable(text, encoding)
  if (table !== undefined) return table
  if (/^\s*\{[^\S\n]*\S/.test(text)) return byLine(source, encoding)
  throw new Unreadable(
    `begins as JSON and is not: a comma, a quotation mark or a bracket is missing near line ${errorLineOf(text)}.`,
  )
}

/** A list of payments, one at a time: all of them at once would need several times the memory of the file. */
function listTable(source: Text, encoding: string): Table | undefined {
  const builder = createBuilder()
  let [isOther, sharesLines, before] = [false, false, 0]
  const scanner = createScanner((entry, line) => {
    const value = isOther ? undefined : parsed(entry)
    isOther = value === undefined || !builder.add(line, value)
    sharesLines ||= line === before
    before = line
  })
  for (const part of source.parts()) scanner.read(part)
  const { text: outline, problems } = scanner.end()
  const [entry, ...more] = isOther ? [] : entriesOf(parsed(outline), [])
  if (entry?.value !== 0 || more.length > 0) return undefined
  if (sharesLines) builder.countLines()
  return builder.table('JSON', encoding, problems)
}

function wholeTable(text: string, encoding: string): Table | undefined {
  const builder = createBuilder()
  const { text: marked, problems, starts } = scan(text)
  const value = parsed(marked)
  if (value === undefined) return undefined
  const entries = entriesOf(value, starts)
  const found = [...problems]
  const areLists = entries.length > 0 && entries.every((entry) => Array.isArray(entry.value))
  for (const { line, value: each } of entries)
    if (Array.isArray(each) !== areLists || !builder.add(line, each))
      found.push({ line, message: 'is no JSON object' })
  return builder.table('JSON', encoding, found)
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

function byLine(text: Text, encoding: string): Table {
  const builder = createBuilder()
  const problems: Problem[] = []
  let line = 0
  for (const piece of text.lines())
    for (const each of linesIn(piece)) {
      line++
      if (each.trim() === '') continue
      const { text: marked, problems: twice } = scan(each)
      const value = parsed(marked)
      for (const { message } of twice) problems.push({ line, message })
      if (isObject(value)) builder.add(line, value)
      else problems.push({ line, message: 'is no JSON object' })
    }
  return builder.table('JSON Lines', encoding, problems)
}

function scan(text: string) {
  const scanner = createScanner()
  scanner.read(text)
  return scanner.end()
}

/**
 * Marks numbers, finds fields that are given twice, and finds the lines on which entries of a list begin. With
 * `take` the text becomes an outline: `0` stands for the entries of a list, which `take` gets one by one.
 */
function createScanner(take?: (entry: string, line: number) => void) {
  const problems: Problem[] = []
  const starts: number[] = []
  const open: (Set<string> | undefined)[] = []
  let [left, marked, outline, line] = ['', '', '', 1]
  let entryAt: { readonly depth: number; readonly line: number } | undefined

  /** Reads the complete tokens; all tokens if `isEnd`. */
  function advance(text: string, isEnd: boolean): void {
    const solid = isEnd ? Number.POSITIVE_INFINITY : text.trimEnd().length
    let [from, until] = [0, text.length]
    for (const match of text.matchAll(TOKEN)) {
      const [token, end, isKey] = match
      const isCut = (token.startsWith('"') && end === undefined) || match.index + token.length >= solid
      if (isCut && !isEnd) {
        until = match.index
        break
      }
      const keys = open.at(-1)
      if (token === '\n') line++
      else if (token === '{' || token === '[') {
        const isEntry = open.length > 0 && keys === undefined && !open.slice(0, -1).includes(undefined)
        if (isEntry && take) {
          const before = marked + text.slice(from, match.index)
          // The outline stays short: it leaves out the commas between entries.
          if (!(outline.endsWith('0') && before.trim() === ',')) outline += `${before}0`
          ;[marked, from] = ['', match.index]
          entryAt = { depth: open.length, line }
        } else if (isEntry) starts.push(line)
        open.push(token === '{' ? new Set() : undefined)
      } else if (token === '}' || token === ']') {
        open.pop()
        if (take && entryAt?.depth === open.length) {
          take(marked + text.slice(from, match.index + 1), entryAt.line)
          ;[marked, from, entryAt] = ['', match.index + 1, undefined]
        }
      } else if (isKey !== undefined && keys !== undefined) {
        const key = token.slice(0, token.lastIndexOf('"') + 1)
        if (keys.has(key)) problems.push({ line, message: `has the field ${key} twice` })
        keys.add(key)
      } else if (!token.startsWith('"')) {
        marked += `${text.slice(from, match.index)}"\\u0000${token}"`
        from = match.index + token.length
      }
    }
    marked += text.slice(from, until)
    left = text.slice(until)
  }

  return {
    read: (part: string) => advance(left + part, false),
    end() {
      advance(left, true)
      return { text: outline + marked, problems, starts }
    },
  }
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

/** Collects entries: all of them objects, or all of them lists of cells. */
function createBuilder() {
  const names = new Map<string, number>()
  const rows = new TableRows()
  let areLists: boolean | undefined

  return {
    /** Returns false for an entry of another form. */
    add(line: number, value: unknown): boolean {
      if (Array.isArray(value) ? areLists === false : areLists === true || !isObject(value)) return false
      areLists = Array.isArray(value)
      if (Array.isArray(value)) rows.add(rowOf(line, value.map(wordOf)))
      else {
        const fields = value as Fields
        for (const name of Object.keys(fields)) if (!names.has(name)) names.set(name, names.size)
        rows.add(
          rowOf(
            line,
            [...names.keys()].map((name) => wordOf(fields[name])),
          ),
        )
      }
      return true
    },
    countLines: () => rows.countLines(),
    table: (kind: string, encoding: string, problems: readonly Problem[]): Table => ({
      format: `${kind}, ${encoding}`,
      head: areLists ? undefined : { line: 1, cells: [...names.keys()] },
      rows,
      problems,
      hashes: [],
      leftOut: [],
      pointed: true,
    }),
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
