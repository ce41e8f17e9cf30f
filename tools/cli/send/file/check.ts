import { type Address, zeroAddress } from 'viem'
import { keccak } from '../../shared/keccak.js'
import { amountIn } from './amountCell.js'
import { callOf, gasOf } from './calls.js'
import { type Checked, CheckedRows, requestOf } from './checkedRows.js'
import { type Columns, optionName } from './columns.js'
import { chainProblem, isNft } from './context.js'
import { type Moneys, moneyNamed, type Named } from './money.js'
import { Positions } from './positions.js'
import { type PayingChain, recipientOf } from './recipients/address.js'
import type { Resolutions } from './recipients/names.js'
import type { Problem, Row } from './rows.js'
import type { TableRow } from './table/table.js'
import type { TableRows } from './table/tableRows.js'
import { clean, shown } from './words/cells.js'
import { type Role, wordsOf } from './words/header.js'
import type { Decimal } from './words/numbers.js'

/** Everything that a row is checked against. */
export type Checks = {
  readonly columns: Columns
  readonly chain: PayingChain
  readonly moneys: Moneys
  readonly resolutions: Resolutions
  readonly decimal: Decimal
  readonly unit: string | undefined
  readonly account: Address | undefined
}

/** Checks the first `count` rows. Returns the payments, and all problems: nothing is sent if one row is invalid. */
export function checkRows(
  table: TableRows,
  count: number,
  checks: Checks,
): { readonly rows: readonly Row[]; readonly problems: readonly Problem[] } {
  const { columns } = checks
  const checked = new CheckedRows(table, columns.width, count)
  const problems: Problem[] = []
  const idOf = hasIds(table.first(count), columns) ? namedIds(count, checked) : countedIds(count, checked)
  let place = 0
  for (const row of table.first(count)) {
    try {
      if (row.cells.length > columns.width) checkWidth(row, columns)
      const found = rowOf(row, checks)
      checked.add(place, found, idOf(found, cellOf(row, columns, 'id')))
    } catch (error) {
      problems.push({ line: row.line, message: (error as Error).message })
    }
    place++
  }
  return { rows: checked.rows(), problems }
}

function hasIds(rows: Iterable<TableRow>, columns: Columns): boolean {
  if (columns.at.id === undefined) return false
  for (const row of rows) if (cellOf(row, columns, 'id') !== '') return true
  return false
}

export function cellOf({ cells }: TableRow, { at }: Columns, role: Role): string {
  const index = at[role]
  return index === undefined ? '' : clean(cells[index] ?? '')
}

function checkWidth({ cells }: TableRow, { width }: Columns): void {
  const extra = cells.slice(width).filter((cell) => cell !== '')
  if (extra.length > 0)
    throw new Error(
      `has ${cells.length} cells for ${width} columns: name the other column, or put a cell with a separator in it into quotation marks, such as "1,000 ether"`,
    )
}

const ID_LENGTH_MAX = 100

type IdOf = (checked: Checked, cell: string) => string

function namedIds(size: number, rows: CheckedRows): IdOf {
  const positions = new Positions(size, (index) => rows.idAt(index))
  return (_, id) => {
    if (id === '') throw new Error('has no id, while others have one')
    if (id.length > ID_LENGTH_MAX || /[~\s]/.test(id)) {
      throw new Error(`${shown(id)} is no id: up to ${ID_LENGTH_MAX} characters, no spaces and no ~`)
    }
    const first = positions.find(id)
    if (first !== undefined) throw new Error(`has the id "${id}" of line ${rows.lineAt(first)}`)
    positions.put(id, rows.length)
    return id
  }
}

const ID_BYTES = 8

/** A hash of the content, plus its occurrence number: equal lines are separate payments, in any order. */
function countedIds(size: number, rows: CheckedRows): IdOf {
  const positions = new Positions(size, (index) => rows.idAt(index).slice(0, 2 * ID_BYTES))
  return (checked) => {
    const { to, value, data } = requestOf(checked)
    const hash = keccak(Buffer.from(`${to.toLowerCase()} ${value} ${data ?? '0x'}`))
    const content = Buffer.from(hash.subarray(0, ID_BYTES)).toString('hex')
    const before = positions.put(content, rows.length)
    const [, times = 0] = before === undefined ? [] : rows.idAt(before).split('-')
    return `${content}-${Number(times) + 1}`
  }
}

function rowOf(row: TableRow, checks: Checks): Checked {
  let reading: Role | undefined
  try {
    return readRow(row, checks, (role) => {
      reading = role
    })
  } catch (error) {
    throw new Error(`${(error as Error).message}${columnText(checks.columns, reading, error as Error)}`)
  }
}

/** The name of the column, unless it is that of its meaning or the message has it. */
function columnText({ at, names }: Columns, role: Role | undefined, { message }: Error): string {
  const name = role === undefined ? undefined : names[at[role] ?? -1]
  return name === undefined || name.toLowerCase() === role || message.includes(name)
    ? ''
    : ` (column ${shown(name)})`
}

function readRow(row: TableRow, checks: Checks, reads: (role: Role | undefined) => void): Checked {
  const { columns, chain, moneys, account } = checks
  const cell = (role: Role) => cellOf(row, columns, role)
  checkContext(cell, chain, account)
  checkNotSent(row, columns)
  reads('to')
  const { to, name } = payeeOf(cell('to'), checks)
  if (isOwnerless(to)) throw new Error(noOwner(to))
  reads(undefined)
  const gas = gasOf(cell('gas'))
  const data = callOf({ data: cell('data'), function: cell('function'), args: cell('args') })
  if (data !== undefined) {
    if (moneys.usual?.kind !== 'native')
      throw new Error('is a call: --token only supports transfers of that token')
    if (cell('token') !== '') throw new Error('is a call, and names a token: only transfers name tokens')
    reads('amount')
    const value = cell('amount') === '' ? 0n : amountIn(row, checks, { money: moneys.native }).amount
    return { to, name, amount: value, money: moneys.native, data, gas }
  }
  const named = namedMoney(row, checks)
  reads('amount')
  if (cell('amount') === '')
    throw new Error('has neither an amount nor a call: write one, or delete the line')
  const { amount, money } = amountIn(row, checks, named)
  if (amount === 0n) throw new Error('pays nothing: delete the line, or correct its amount')
  reads(undefined)
  if (money.kind === 'token' && to.toLowerCase() === money.address.toLowerCase())
    throw new Error('pays the token to its own contract, which cannot return it')
  return { to, name, amount, money, gas }
}

/** The zero address and the precompiled contracts: 1 to 0x11 with those to come, and 0x100 of RIP-7212. */
const PRECOMPILED = /^0x0{37}(?:0[01].|100)$/
/** Conventional addresses for burning, for the native currency, and for a missing address. */
const STAND_INS = new Set(
  [`${'0'.repeat(36)}dead`, `dead${'0'.repeat(36)}`, 'e'.repeat(40), 'f'.repeat(40)].map(
    (digits) => `0x${digits}`,
  ),
)

/** No account has the address: a payment to it is lost. */
const isOwnerless = (to: Address): boolean => PRECOMPILED.test(to) || STAND_INS.has(to.toLowerCase())

const noOwner = (to: Address): string =>
  to === zeroAddress
    ? 'pays to the zero address, which cannot return it'
    : `pays to ${to}, which belongs to nobody and cannot return it`

const SENT_WORDS = new Set(['tx', 'txn', 'txid', 'txhash', 'hash', 'transaction'])

/** A column of transaction hashes says that a line was paid. */
function checkNotSent({ cells }: TableRow, { at, names }: Columns): void {
  for (const [index, cell] of cells.entries()) {
    if (cell.length < HASH_CHARS || !/0x[0-9a-f]{64}\b/i.test(cell)) continue
    const name = names[index] ?? ''
    if (index === at.data || index === at.args || index === at.note) continue
    if (wordsOf(name).some((word) => SENT_WORDS.has(word.toLowerCase())))
      throw new Error(
        `has a transaction hash in the column ${shown(name)}: delete the lines that were paid, or say --columns "note=${optionName(names, index)}"`,
      )
  }
}

const HASH_CHARS = 66

/** Refuses a row whose cells name another chain or another paying account, or mark the row as paid. */
function checkContext(cell: (role: Role) => string, chain: PayingChain, account: Address | undefined): void {
  const elsewhere = chainProblem(cell('chain'), chain)
  if (elsewhere !== undefined) throw new Error(elsewhere)
  const from = cell('from')
  if (account !== undefined && /^0x[0-9a-f]{40}$/i.test(from) && from.toLowerCase() !== account.toLowerCase())
    throw new Error(`is to be paid from ${from}, and the key belongs to ${account}`)
  const status = cell('status')
  if (/^(?:paid|yes|y|done|sent|true|x|✓|✔|✅|completed?|bezahlt|pagado|payé)$/i.test(status))
    throw new Error(
      `is marked as ${shown(status)}: delete the lines that were paid, or say with --columns "note=…" that the column is a remark`,
    )
}

function payeeOf(cell: string, { chain, resolutions }: Checks): Pick<Checked, 'to' | 'name'> {
  const recipient = recipientOf(cell, chain)
  if (recipient.kind === 'address') return { to: recipient.address }
  const found = resolutions.get(recipient.kind === 'name' ? recipient.name : recipient.text)
  if (found === undefined || found instanceof Error)
    throw found ?? new Error(`${shown(cell)} was not resolved`)
  return { to: found.address, name: found.name }
}

/** The currency of the row by its own cells; undefined if its unit decides. */
function namedMoney(row: TableRow, { columns, moneys }: Checks): Named | undefined {
  const type = cellOf(row, columns, 'token type').toLowerCase()
  if (isNft(type)) throw new Error(`pays an NFT (${type}): only currencies are paid`)
  const token = cellOf(row, columns, 'token')
  if (type !== '' && type !== 'erc20' && type !== 'native')
    throw new Error(`${shown(type)} is no type of token: erc20 or native`)
  if (type === 'native' && token !== '' && !isNamedNative(token, moneys))
    throw new Error(`pays the currency of the chain by its type, and the token ${token}`)
  if (type === 'erc20' && token === '') throw new Error('pays a token by its type, and has no address of it')
  if (columns.at.token === undefined) return moneys.usual && { money: moneys.usual }
  if (token !== '') return checkedDecimals(row, columns, moneyNamed(token, moneys))
  if (!columns.isSafe) throw new Error(`has no token: write its address, or ${moneys.native.symbol}`)
  if (moneys.given)
    throw new Error(
      `has no token address, which means ${moneys.native.symbol} in this format: leave out --token`,
    )
  return checkedDecimals(row, columns, { money: moneys.native })
}

const isNamedNative = (token: string, moneys: Moneys) =>
  !token.startsWith('0x') && moneyNamed(token, moneys).money.kind === 'native'

function checkedDecimals(row: TableRow, columns: Columns, named: Named): Named {
  const cell = cellOf(row, columns, 'decimals')
  const { money } = named
  const decimals = money.kind === 'native' ? 18 : money.decimals
  if (cell !== '' && cell !== String(decimals))
    throw new Error(`says ${shown(cell)} decimals, and ${money.symbol} has ${decimals}`)
  return named
}
