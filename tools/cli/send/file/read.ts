import { CsvError, parse } from 'csv-parse/sync'
import { COLUMNS, type Problem, type RawRow } from './rows.js'

const KNOWN: ReadonlySet<string> = new Set(COLUMNS)
const UNKNOWN = `is not a column: the columns are ${COLUMNS.join(', ')} (use note for remarks)`

/**
 * Reads the lines of a CSV or JSON Lines file. All unreadable lines are reported together, by line number.
 */
export function readRows(
  name: string,
  text: string,
): { rows: readonly RawRow[]; problems: readonly Problem[] } {
  return /\.(jsonl|ndjson)$/i.test(name) ? readJsonLines(text) : readCsv(text)
}

function readJsonLines(text: string): { rows: RawRow[]; problems: Problem[] } {
  const rows: RawRow[] = []
  const problems: Problem[] = []
  for (const [index, each] of text.split(/\r?\n/).entries()) {
    const line = index + 1
    if (each.trim() === '') continue
    const read = objectOf(each)
    if (read === undefined) {
      problems.push({ line, message: 'is no JSON object' })
      continue
    }
    const unknown = Object.keys(read).filter((key) => !KNOWN.has(key))
    for (const key of unknown) problems.push({ line, message: `"${key}" ${UNKNOWN}` })
    rows.push({
      line,
      fields: Object.fromEntries(Object.entries(read).map(([key, value]) => [key, wordOf(value)])),
    })
  }
  return { rows, problems }
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const read: unknown = JSON.parse(text)
    return typeof read === 'object' && read !== null && !Array.isArray(read)
      ? (read as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/**
 * A large JSON number has already lost digits, so a number is only accepted while it is a safe integer or a
 * fraction.
 */
function wordOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'string') return value
  if (typeof value === 'number' && !Number.isInteger(value)) return String(value)
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    return `${value} (a number too large for JSON: quote it)`
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function readCsv(text: string): { rows: RawRow[]; problems: Problem[] } {
  const head = (names: string[]) => names.map((name) => name.trim().toLowerCase())
  try {
    const read = parse(text, {
      bom: true,
      columns: head,
      comment: '#',
      comment_no_infix: true,
      info: true,
      skip_empty_lines: true,
      trim: true,
    }) as unknown as { info: { lines: number }; record: Record<string, string> }[]
    const [first] = read
    const problems: Problem[] = first ? headProblems(Object.keys(first.record)) : []
    const rows = read.map(({ info, record }) => ({
      line: info.lines,
      fields: Object.fromEntries(
        Object.entries(record).map(([key, value]) => [key, value === '' ? undefined : value]),
      ),
    }))
    return { rows, problems }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    return {
      rows: [],
      problems: [{ line: Number((error as { lines?: number }).lines ?? 1), message: error.message }],
    }
  }
}

function headProblems(names: readonly string[]): Problem[] {
  if (names.some((name) => /^0x[0-9a-f]{40}$/i.test(name))) {
    return [{ line: 1, message: `the first line must name the columns: ${COLUMNS.join(',')}` }]
  }
  return names
    .filter((name) => !KNOWN.has(name))
    .map((name) => ({ line: 1, message: `"${name}" ${UNKNOWN}` }))
}
