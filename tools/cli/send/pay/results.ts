import { formatUnits, type Hash } from 'viem'
import { decimalsOf } from '../file/amountText.js'
import type { Payout, Row } from '../file/rows.js'
import { replaceFile } from './writeFile.js'

/**
 * Result of a line. `open`: its end was not seen; the next run continues with it. `failed`: it was never
 * executed and never will be; the next run sends it again. `unresolved`: an operator has to decide (see
 * `resolve` in the library).
 */
export type RowStatus = 'paid' | 'reverted' | 'failed' | 'cancelled' | 'unresolved' | 'open'

export type RowResult = {
  readonly row: Row
  readonly status: RowStatus
  readonly nonce?: number | undefined
  readonly hash?: Hash | undefined
  readonly blockNumber?: bigint | undefined
  readonly gasUsed?: bigint | undefined
  /** The fee of the line in wei: that of its transaction, divided by the lines that share it. */
  readonly feeWei?: bigint | undefined
  /** The number of lines in the transaction. @default 1 */
  readonly sharedBy?: number | undefined
  readonly error?: string | undefined
}

/** The columns that the results add to those of the file. */
export const ADDED = [
  'line',
  'id',
  'recipient',
  'paid',
  'unit',
  'token',
  'status',
  'nonce',
  'hash',
  'block',
  'time',
  'gas_used',
  'fee',
  'fee_unit',
  'shared_by',
  'error',
] as const

/** The facts about the chain that a result needs. */
export type ResultsChain = {
  /** The symbol of the native currency, in which fees are paid. */
  readonly symbol: string
  /** The times of the blocks, in ISO 8601. */
  readonly times: ReadonlyMap<bigint, string>
}

/** Writes the results file, which each run replaces. */
export function writeResults(
  path: string,
  columns: Payout['columns'],
  results: readonly RowResult[],
  chain: ResultsChain,
): Promise<void> {
  return replaceFile(path, csvLines(columns, results, chain))
}

function* csvLines(
  columns: Payout['columns'],
  results: readonly RowResult[],
  chain: ResultsChain,
): Generator<string> {
  const taken = new Set(columns.map((name) => name.trim().toLowerCase()))
  const added = ADDED.map((name) => (taken.has(name) ? `txlane_${name}` : name))
  const isAscii = columns.every(ascii) && results.every(({ row }) => row.cells.every(ascii))
  yield `${isAscii ? '' : BYTE_ORDER_MARK}${[...columns, ...added].map(cell).join(',')}`
  for (const result of results) {
    const own = columns.map((_, index) => result.row.cells[index])
    yield [...own, ...addedCells(result, chain)].map(cell).join(',')
  }
}

// Without this mark Excel takes UTF-8 for a code page, and shows other letters.
const BYTE_ORDER_MARK = '\uFEFF'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII begins with them
const ascii = (text: string): boolean => /^[\u0000-\u007f]*$/.test(text)

function addedCells(result: RowResult, { symbol, times }: ResultsChain): readonly unknown[] {
  const { row, status, nonce, hash, blockNumber, gasUsed, feeWei, error } = result
  const { money } = row
  const cells: Record<(typeof ADDED)[number], unknown> = {
    line: row.line,
    id: row.id,
    recipient: row.to,
    paid: paidText(result),
    unit: money.symbol,
    token: money.kind === 'token' ? money.address : undefined,
    status,
    nonce,
    hash,
    block: blockNumber,
    time: blockNumber === undefined ? undefined : times.get(blockNumber),
    gas_used: gasUsed,
    fee: feeWei === undefined ? undefined : formatUnits(feeWei, 18),
    fee_unit: feeWei === undefined ? undefined : symbol,
    shared_by: blockNumber === undefined ? undefined : (result.sharedBy ?? 1),
    error,
  }
  return ADDED.map((name) => cells[name])
}

/** Empty while it is not known whether the line is paid. */
function paidText({ row, status }: RowResult): string | undefined {
  if (status === 'open' || status === 'unresolved') return undefined
  return status === 'paid' ? formatUnits(row.amount, decimalsOf(row.money)) : '0'
}

/** A cell that a spreadsheet would run, or that already has the mark of such a cell. */
const FORMULA = /^'*[=+@\t\r-]/

/** Quotes a cell if necessary (RFC 4180), and prevents spreadsheet formulas. */
function cell(value: unknown): string {
  if (value === undefined) return ''
  const text = FORMULA.test(String(value)) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The text that `cell` was given. */
export function uncell(text: string): string {
  return FORMULA.test(text) && text.startsWith("'") ? text.slice(1) : text
}

export function countStatuses(results: readonly RowResult[]): Record<RowStatus, number> {
  const counts: Record<RowStatus, number> = {
    paid: 0,
    reverted: 0,
    failed: 0,
    cancelled: 0,
    unresolved: 0,
    open: 0,
  }
  for (const { status } of results) counts[status]++
  return counts
}
