import { parse } from 'csv-parse/sync'
import { type Problem, type Table, type TableRow, Unreadable } from './table/table.js'
import type { TableRows } from './table/tableRows.js'
import { isAmountLike, isRecipientLike, shown } from './words/cells.js'
import { meaningOf, nearMissOf, ROLES, type Role, scaleIn, wordsOf } from './words/header.js'

/** The meaning of each column. */
export type Columns = {
  /** The names in the file, in its order. */
  readonly names: readonly string[]
  readonly at: Readonly<Partial<Record<Role, number>>>
  /** The unit that the name of the amount's column gives. */
  readonly unit: string | undefined
  /** The Safe airdrop format: amounts are whole tokens, and a row without a token address pays the native currency. */
  readonly isSafe: boolean
  readonly width: number
}

/**
 * Finds the meaning of each column: first by the option `--columns`, then by the names, and without names by
 * the cells. A choice between two columns is left to the user.
 * @throws Unreadable if the option is wrong, or if a column cannot be identified
 */
export function columnsOf(
  { head, rows }: Table,
  option: string | undefined,
  symbols: ReadonlySet<string>,
): { readonly columns: Columns; readonly problems: readonly Problem[] } {
  const width = widthOf(head, rows)
  const names = Array.from({ length: width }, (_, index) => head?.cells[index]?.trim() ?? '')
  const chosen = option === undefined ? new Map<number, Role>() : chosenBy(option, names, head !== undefined)
  const problem = (message: string) => ({ line: head?.line ?? rows.at(0)?.line ?? 1, message })
  if (head === undefined) {
    const { at, message } = byCells(rows, width, chosen)
    const titles = names.map((_, index) => roleAt(at, index) ?? `column ${index + 1}`)
    return {
      columns: { names: titles, at, unit: undefined, isSafe: false, width },
      problems: message === undefined ? [] : [problem(message)],
    }
  }
  const isSafe = isSafeAirdrop(names)
  const meanings = names.map((name, index) => {
    const role = chosen.get(index)
    const meaning = isSafe && name.toLowerCase() === 'id' ? undefined : meaningOf(name, symbols)
    if (role !== undefined) return { role, ...(meaning?.role === role && meaning) }
    return meaning !== undefined && [...chosen.values()].includes(meaning.role) && meaning.role !== 'note'
      ? undefined
      : meaning
  })
  const at: Partial<Record<Role, number>> = {}
  const problems: Problem[] = []
  for (const role of ROLES) {
    const found = meanings.flatMap((meaning, index) => (meaning?.role === role ? [index] : []))
    const used = found.length > 1 ? found.filter((index) => fits(role, rows, index)) : found
    const [first] = used.length > 0 ? used : found
    if (first !== undefined) at[role] = first
    if (used.length > 1 && role !== 'note') problems.push(problem(severalMessage(role, used, names)))
  }
  const scale = at.amount === undefined ? undefined : scaleIn(names[at.amount] ?? '')
  if (scale !== undefined)
    problems.push(
      problem(
        `names the amount ${shown(names[at.amount as number] ?? '')}: write the amounts in full, and the name without ${shown(scale)}`,
      ),
    )
  const doubts = doubtful(names, meanings, rows, symbols)
  // A mistyped name is missing too.
  problems.push(...(doubts.length > 0 ? doubts : missing(at, names, rows)).map(problem))
  const unit = at.amount === undefined ? undefined : meaningOf(names[at.amount] ?? '', symbols)?.unit
  return { columns: { names, at, unit, isSafe, width }, problems }
}

function widthOf(head: TableRow | undefined, rows: TableRows): number {
  let width = 0
  for (const { cells } of head ? [head] : rows)
    for (let index = cells.length; index > width; index--)
      if (cells[index - 1] !== '') {
        width = index
        break
      }
  return width
}

const roleAt = (at: Columns['at'], index: number) => ROLES.find((role) => at[role] === index)

const isSafeAirdrop = (names: readonly string[]) => {
  const has = (name: string) => names.some((each) => each.toLowerCase() === name)
  return has('token_address') && has('receiver') && (has('amount') || has('value'))
}

/** The columns of `to=Wallet,amount=3`: a name, or a position from 1. */
function chosenBy(option: string, names: readonly string[], hasHead: boolean): Map<number, Role> {
  const chosen = new Map<number, Role>()
  for (const part of partsOf(option)) {
    const [, role = '', name = ''] = /^\s*([^=]+?)\s*=\s*(.*?)\s*$/.exec(part) ?? []
    if (!(ROLES as readonly string[]).includes(role) || name === '')
      throw new Unreadable(
        `was not read: --columns has ${shown(part)}, and expects for example "to=Wallet,amount=3". The columns are ${ROLES.join(', ')}.`,
      )
    const index = hasHead ? indexOf(name, names) : positionOf(name, names)
    if (index === undefined)
      throw new Unreadable(`has no column ${shown(name)} for --columns: ${listOf(names, hasHead)}.`)
    if (chosen.has(index)) throw new Unreadable(`was not read: --columns names ${shown(name)} twice.`)
    if (role !== 'note' && [...chosen.values()].includes(role as Role))
      throw new Unreadable(`was not read: --columns names two columns for ${role}.`)
    chosen.set(index, role as Role)
  }
  return chosen
}

function partsOf(option: string): readonly string[] {
  try {
    return (parse(option, { trim: true, relax_quotes: true }) as string[][])[0] ?? []
  } catch {
    throw new Unreadable('was not read: --columns has a quotation mark that is not closed.')
  }
}

function indexOf(name: string, names: readonly string[]): number | undefined {
  const words = wordsOf(name).join(' ').toLowerCase()
  for (const same of [
    (each: string) => each === name,
    (each: string) => words !== '' && wordsOf(each).join(' ').toLowerCase() === words,
  ]) {
    const found = names.flatMap((each, index) => (same(each) ? [index] : []))
    if (found.length > 1)
      throw new Unreadable(
        `has ${found.length} columns ${shown(name)}: give the position in --columns, ${found.map((index) => index + 1).join(' or ')}.`,
      )
    if (found[0] !== undefined) return found[0]
  }
  return positionOf(name, names)
}

function positionOf(name: string, { length }: readonly string[]): number | undefined {
  return /^\d+$/.test(name) && Number(name) >= 1 && Number(name) <= length ? Number(name) - 1 : undefined
}

const listOf = (names: readonly string[], hasHead: boolean) =>
  hasHead
    ? `the columns are ${names.filter((name) => name !== '').join(', ')}`
    : `it has no names of columns, and ${names.length} columns`

/** Without names: one column has the recipients, and the only other one the amounts. */
function byCells(rows: TableRows, width: number, chosen: ReadonlyMap<number, Role>) {
  const at: Partial<Record<Role, number>> = {}
  for (const [index, role] of chosen) at[role] = index
  const rest = Array.from({ length: width }, (_, index) => index).filter((index) => !chosen.has(index))
  const recipients = rest.filter((index) => has(rows, index, isRecipientLike))
  if (at.to === undefined && recipients.length === 1) at.to = recipients[0] as number
  const others = rest.filter((index) => index !== at.to)
  if (at.amount === undefined && others.length === 1) at.amount = others[0] as number
  const isKnown = at.to !== undefined && (at.amount !== undefined || at.data !== undefined)
  return { at, message: isKnown ? undefined : unknownMessage(width, at.to ?? recipients[0], rows) }
}

function unknownMessage(width: number, to: number | undefined, rows: TableRows): string {
  if (width === 1)
    return 'has 1 cell: write a recipient and an amount on each line, for example "0x… 1.5 ether", or a table with names of columns'
  const places = Array.from({ length: width }, (_, index) => index)
  const amounts = places.filter((index) => index !== to && fits('amount', rows, index))
  // The last one: a number before it is more often an id.
  const amount = amounts.at(-1) ?? places.find((index) => index !== to)
  return `has ${width} cells, and no line above names the columns: say which is which, for example --columns "to=${(to ?? 0) + 1},amount=${(amount ?? 1) + 1}"`
}

function fits(role: Role, rows: TableRows, index: number): boolean {
  const test =
    role === 'to' ? isRecipientLike : role === 'amount' ? isAmountLike : (cell: string) => cell !== ''
  return has(rows, index, test)
}

function has(rows: TableRows, index: number, test: (cell: string) => boolean): boolean {
  return rows.find(({ cells }) => test(cells[index] ?? '')) !== undefined
}

function severalMessage(role: Role, found: readonly number[], names: readonly string[]): string {
  const each = found.map((index) => names[index] ?? '')
  const options = found.map((index) => `--columns "${role}=${optionName(names, index)}"`)
  const what = role === 'to' ? 'the recipient' : `the ${role}`
  return `names ${found.length} columns that may be ${what}, ${each.map(shown).join(' and ')}: say ${options.join(' or ')}`
}

/**
 * The name of a column for `--columns`: its position if another column has the same name, or if the name has
 * characters that the option or a shell interprets.
 */
export function optionName(names: readonly string[], index: number): string {
  const name = names[index] ?? ''
  const isPlain = /^[\p{L}\p{M}\p{N} ()[\]#%&*+./:;<>?@^_{|}~€£¥Ξ'’-]+$/u.test(name)
  const isUnique = names.filter((each) => each === name).length === 1
  return isPlain && isUnique ? name : String(index + 1)
}

/** The columns that the names do not identify, with a proposal by the cells. */
function missing(at: Columns['at'], names: readonly string[], rows: TableRows): readonly string[] {
  const needsAmount = at.amount === undefined && at.data === undefined && at.function === undefined
  const roles = [...(at.to === undefined ? ['to' as const] : []), ...(needsAmount ? ['amount' as const] : [])]
  if (roles.length === 0) return []
  const list = names.filter((name) => name !== '').map(shown)
  const proposal = roles.map((role) => {
    const fitting = names.findIndex((name, index) => name !== '' && fits(role, rows, index))
    return `${role}=${fitting < 0 ? '…' : optionName(names, fitting)}`
  })
  const what = roles.map((role) => (role === 'to' ? 'the recipient' : 'the amount')).join(' and ')
  return [
    `names no column for ${what}; the columns are ${list.join(', ')}. Say which it is, for example --columns "${proposal.join(',')}"`,
  ]
}

const UNIT_CELLS = new Set(['ether', 'eth', 'gwei', 'wei', 'usdc', 'usdt', 'dai', 'tokens', 'base'])

/** Columns without a known name that may change the payments: a mistyped name, or units. */
function doubtful(
  names: readonly string[],
  meanings: readonly ({ readonly role: Role } | undefined)[],
  rows: TableRows,
  symbols: ReadonlySet<string>,
): readonly string[] {
  return names.flatMap((name, index) => {
    if (meanings[index] !== undefined) return []
    const option = optionName(names, index)
    const near = nearMissOf(name)
    if (near !== undefined)
      return [`names a column ${shown(name)}: correct it to "${near}", or say --columns "note=${option}"`]
    const isUnit = (cell: string) => UNIT_CELLS.has(cell.toLowerCase()) || symbols.has(cell.toLowerCase())
    const unit = rows.find(({ cells }) => isUnit(cells[index] ?? ''))
    if (unit !== undefined)
      return [
        `has a column ${shown(name)} with ${shown(unit.cells[index] ?? '')} (line ${unit.line}): say --columns "unit=${option}" or --columns "note=${option}"`,
      ]
    const filled = name === '' ? rows.find(({ cells }) => (cells[index] ?? '') !== '') : undefined
    return filled === undefined
      ? []
      : [
          `gives no name to column ${index + 1}, and line ${filled.line} has ${shown(filled.cells[index] ?? '')} there: name it, or say --columns "note=${option}"`,
        ]
  })
}
