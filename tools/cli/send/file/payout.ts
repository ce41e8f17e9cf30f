import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Address, isAddress } from 'viem'
import { loadKeccak } from '../../shared/keccak.js'
import { Refusal } from '../../shared/program.js'
import { unitOf, unitsOf } from './amounts.js'
import { type Checks, cellOf, checkRows } from './check.js'
import { columnsOf } from './columns.js'
import { hashDoubts, judgeTotals, payingTotal, repeatedDoubts, roundedDoubts, totalsRowOf } from './doubts.js'
import { moneysOf } from './money.js'
import { decimalOf } from './notation.js'
import { recipientOf } from './recipients/address.js'
import { fromIcap } from './recipients/icap.js'
import { namesOf, type Resolutions, type Resolved, resolveNames } from './recipients/names.js'
import type { Money, Payout, Problem, Row } from './rows.js'
import { readTable } from './table/readTable.js'
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
  /** The addresses of names that an earlier run resolved. These names are never resolved anew. */
  readonly names?: ReadonlyMap<string, Address> | undefined
  /** The account that pays. Rows that name another one are refused. */
  readonly account?: Address | undefined
}

/**
 * Reads a file of payments and checks all of it.
 * @throws Refusal with every mistake and its line: nothing is paid if one line is invalid
 */
export function readPayout(path: string, options: FileOptions, chain: PayoutChain): Promise<Payout> {
  const bytes = readFile(path).catch(() => {
    throw new Refusal(`${path} cannot be read.`)
  })
  // No function that waits keeps the bytes of a large file.
  return bytes.then((read) => payoutOf(read, basename(path), options, chain))
}

/** `readPayout` for the bytes of a file. `name` is its name in messages. */
export function payoutOf(
  bytes: Uint8Array,
  name: string,
  options: FileOptions,
  chain: PayoutChain,
): Promise<Payout> {
  return loadKeccak()
    .then(() => readTable(bytes, options.sheet))
    .then((table) => read(table, name, options, chain))
    .catch((error: unknown) => {
      throw error instanceof Unreadable ? new Refusal(`${name} ${error.message}`) : error
    })
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
  const named = table.rows
    .map((row) => cellOf(row, columns, 'token'))
    .filter((cell) => isAddress(cell, { strict: false }))
  const tokens = new Map([...given, ...(await readTokens(named as Address[], paying))])
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
  const checked = checkRows(total ? table.rows.slice(0, -1) : table.rows, checks)
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
      ...(more > 0 ? [`  … and ${more.toLocaleString('en')} more`] : []),
    ].join('\n'),
  )
}
