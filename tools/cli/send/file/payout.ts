import { basename } from 'node:path'
import { type Address, isAddress } from 'viem'
import { loadKeccak } from '../../shared/keccak.js'
import { grouped } from '../../shared/output.js'
import { Refusal } from '../../shared/program.js'
import { unitOf, unitsOf } from './amounts.js'
import { type Checks, cellOf, checkRows } from './check.js'
import { type Columns, columnsOf } from './columns.js'
import { hashDoubts, judgeTotals, payingTotal, repeatedDoubts, roundedDoubts, totalsRowOf } from './doubts.js'
import { moneysOf } from './money.js'
import { decimalOf } from './notation.js'
import { recipientOf } from './recipients/address.js'
import { fromIcap } from './recipients/icap.js'
import { namesOf, type Resolutions, type Resolved, resolveNames } from './recipients/names.js'
import type { Money, Payout, Problem, Row } from './rows.js'
import { readTable } from './table/readTable.js'
import { fileSource, type Source } from './table/source.js'
import { type Table, Unreadable } from './table/table.js'
import { type PayoutChain, readTokens, type Tokens } from './tokens.js'
import { understoodOf } from './understood.js'
import type { Decimal } from './words/numbers.js'

/** The answers of the user to questions that a file may leave open. */
export type FileOptions = {
  /** Tokens that the amounts are paid in, or that the symbols of a token column refer to. */
  readonly tokens: readonly Address[]
  /** The unit of numbers without a unit. */
  readonly unit: string | undefined
  /** The meaning of columns: `to=Wallet,amount=3`. */
  readonly columns: string | undefined
  /** The decimal mark of amounts, where the file does not show it. */
  readonly decimal: Decimal | undefined
  /** The sheet of a spreadsheet with several sheets. */
  readonly sheet: string | undefined
  /** The addresses of names that an earlier run resolved. These names are never resolved again. */
  readonly names?: ReadonlyMap<string, Address> | undefined
  /** The account that pays. Rows that name another one are refused. */
  readonly account?: Address | undefined
}

/**
 * Reads a file of payments and checks all of it.
 * @throws Refusal with every mistake and its line: nothing is paid if one line is invalid
 */
export function readPayout(path: string, options: FileOptions, chain: PayoutChain): Promise<Payout> {
  return payoutOf(openFile(path), basename(path), options, chain)
}

function openFile(path: string): Source {
  try {
    return fileSource(path)
  } catch {
    throw new Refusal(`${path} cannot be read.`)
  }
}

/** `readPayout` for the bytes of a file. `name` is its name in messages. */
export async function payoutOf(
  source: Source,
  name: string,
  options: FileOptions,
  chain: PayoutChain,
): Promise<Payout> {
  try {
    await loadKeccak()
    return await read(await readTable(source, options.sheet), name, options, chain)
  } catch (error) {
    throw error instanceof Unreadable ? new Refusal(`${name} ${error.message}`) : error
  }
}

async function read(table: Table, name: string, options: FileOptions, paying: PayoutChain): Promise<Payout> {
  const { chain } = paying
  if (table.rows.length === 0 && table.problems.length > 0) throw refusalOf(name, table.problems)
  if (table.rows.length === 0) throw new Refusal(`${name} has no lines to send.`)
  const given = await tokensOf(options.tokens, paying)
  const native = { kind: 'native', symbol: chain.nativeCurrency.symbol } as const
  const symbols = new Set(
    [native, ...given.values()].flatMap((each) => (each instanceof Error ? [] : [each.symbol.toLowerCase()])),
  )
  const { columns, problems } = columnsOf(table, options.columns, symbols)
  if (problems.length > 0) throw refusalOf(name, [...table.problems, ...problems])
  const tokens = new Map([...given, ...(await readTokens(tokensIn(table, columns), paying))])
  const moneys = moneysOf(native, tokens, options.tokens)
  checkUnit(options.unit, [...(moneys.usual ? [moneys.usual] : []), ...tokens.values()])
  const checks: Checks = {
    columns,
    chain,
    moneys,
    resolutions: await resolutionsOf(table, columns, options, paying),
    decimal: decimalOf(table, columns, options.decimal),
    unit: options.unit,
    account: options.account,
  }
  const total = totalsRowOf(table.rows, checks)
  const checked = checkRows(table.rows, total ? table.rows.length - 1 : table.rows.length, checks)
  const found = [...table.problems, ...checked.problems]
  const judged = total && found.length === 0 ? judgeTotals(total, checked.rows, checks) : {}
  const last = judged.problem ?? payingTotal(checked.rows)
  if (last !== undefined || found.length > 0) throw refusalOf(name, [...found, ...(last ? [last] : [])])
  if (checked.rows.length === 0) throw new Refusal(`${name} has no lines to send.`)
  return {
    columns: columns.names,
    rows: checked.rows,
    understood: understoodOf(table, checked.rows, checks, await ownNames(checked.rows, paying)),
    doubts: [
      ...(judged.doubt ? [judged.doubt] : []),
      ...repeatedDoubts(checked.rows),
      ...hashDoubts(table.hashes),
      ...roundedDoubts(table.rows, columns),
    ],
  }
}

async function tokensOf(addresses: readonly Address[], chain: PayoutChain): Promise<Tokens> {
  const tokens = await readTokens(addresses, chain)
  for (const token of tokens.values()) if (token instanceof Error) throw new Refusal(token.message)
  return tokens
}

function tokensIn({ rows }: Table, columns: Columns): readonly Address[] {
  const found = new Set<string>()
  if (columns.at.token === undefined) return []
  for (const row of rows) found.add(cellOf(row, columns, 'token'))
  return [...found].filter((cell): cell is Address => isAddress(cell, { strict: false }))
}

function checkUnit(unit: string | undefined, moneys: readonly (Money | Error)[]): void {
  const used = moneys.filter((money): money is Money => !(money instanceof Error))
  if (unit === undefined || used.some((money) => unitOf(unit, money) !== undefined)) return
  throw new Refusal(`--unit ${unit} is none of ${used.flatMap(unitsOf).join(', ')}.`)
}

async function resolutionsOf(
  { rows }: Table,
  columns: Checks['columns'],
  { names = new Map() }: FileOptions,
  paying: PayoutChain,
): Promise<Resolutions> {
  const texts = new Set<string>()
  const found = new Map<string, Resolved | Error>()
  for (const row of rows) {
    const cell = cellOf(row, columns, 'to')
    // Most recipients need no resolution, and their checksums are checked once, with the row.
    if (/^0x[0-9a-f]{40}$/i.test(cell)) continue
    const recipient = recipientIn(cell, paying.chain)
    if (recipient?.kind === 'name') texts.add(recipient.name)
    if (recipient?.kind === 'icap') found.set(recipient.text, await fromIcap(recipient.text))
  }
  return new Map([...found, ...(await resolveNames([...texts], paying, names))])
}

function recipientIn(cell: string, chain: PayoutChain['chain']) {
  try {
    return recipientOf(cell, chain)
  } catch {
    // The check of the row reports it.
    return undefined
  }
}

/** The names that the recipients of names have chosen for themselves, as far as they are shown. */
async function ownNames(rows: readonly Row[], paying: PayoutChain): Promise<ReadonlyMap<string, string>> {
  const addresses = new Set(rows.flatMap(({ name, to }) => (name === undefined ? [] : [to])))
  return addresses.size === 0 ? new Map() : namesOf([...addresses].slice(0, NAMES_MAX), paying)
}

const NAMES_MAX = 20
const PROBLEMS_MAX = 50
const ALIKE_MAX = 5

/** All problems in the order of their lines. Of many that are alike, the first ones are shown. */
function refusalOf(name: string, problems: readonly Problem[]): Refusal {
  const sorted = [...problems].sort((a, b) => a.line - b.line)
  const alike = new Map<string, number>()
  const shown = sorted.filter(({ message }) => {
    const kind = message.replace(/"[^"]*"/g, '')
    const times = (alike.get(kind) ?? 0) + 1
    alike.set(kind, times)
    return times <= ALIKE_MAX
  })
  const listed = shown.slice(0, PROBLEMS_MAX)
  const more = sorted.length - listed.length
  return new Refusal(
    [
      `${name} was not sent:`,
      ...listed.map(({ line, message }) => `  line ${line} ${message}`),
      ...(more > 0 ? [`  … and ${grouped(more)} more`] : []),
    ].join('\n'),
  )
}
