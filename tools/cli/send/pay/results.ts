import { formatUnits, type Hash } from 'viem'
import { csvCell } from '../../../report/payout/csvCell.js'
import type { PayoutLine } from '../../../report/payout/payout.js'
import { decimalsOf } from '../file/amountText.js'
import type { Payout, Row } from '../file/rows.js'
import { replaceFile } from './writeFile.js'

/**
 * Result of a line. `open`: its end was not seen; the next run continues with it. `failed`: it was never
 * executed and never will be; the next run sends it again. `unresolved`: an operator has to decide (see
 * `resolve` in the library). `partial`: the token moved another amount. `unmoved`: the transaction succeeded, and
 * the token moved nothing.
 */
export type RowStatus = PayoutLine['status']

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
  /** The amount that the recipient got, if it is not the amount of the line. */
  readonly received?: bigint | undefined
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
  yield `${isAscii ? '' : BYTE_ORDER_MARK}${[...columns, ...added].map(csvCell).join(',')}`
  for (const result of results) {
    const own = columns.map((_, index) => result.row.cells[index])
    yield [...own, ...addedCells(result, chain)].map(csvCell).join(',')
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
function paidText(result: RowResult): string | undefined {
  const { status } = result
  if (status === 'open' || status === 'unresolved') return undefined
  const { money, amount } = paidOf(result)
  return formatUnits(amount, decimalsOf(money))
}

export const isPaid = ({ status }: Pick<RowResult, 'status'>): boolean =>
  status === 'paid' || status === 'partial'

/** The amount that the recipient has got. */
export function paidOf(result: RowResult): Pick<Row, 'money' | 'amount'> {
  const { row, received } = result
  return { money: row.money, amount: isPaid(result) ? (received ?? row.amount) : 0n }
}

export function countStatuses(results: readonly RowResult[]): Record<RowStatus, number> {
  const counts: Record<RowStatus, number> = {
    paid: 0,
    partial: 0,
    unmoved: 0,
    reverted: 0,
    failed: 0,
    cancelled: 0,
    unresolved: 0,
    open: 0,
  }
  for (const { status } of results) counts[status]++
  return counts
}
