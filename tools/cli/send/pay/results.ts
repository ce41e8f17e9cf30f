import { writeFile } from 'node:fs/promises'
import type { Hash } from 'viem'
import { showAmount } from '../file/amounts.js'
import type { Row } from '../file/rows.js'

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
  /** The fee in wei: of its transaction, or the line's share of it. */
  readonly feeWei?: bigint | undefined
  /** The number of lines in the transaction. */
  readonly sharedBy?: number | undefined
  readonly error?: string | undefined
}

const HEAD = ['line', 'id', 'to', 'amount', 'status', 'nonce', 'hash', 'block', 'gas_used', 'error']

/** Writes the results file, which each run replaces. */
export async function writeResults(path: string, results: readonly RowResult[]): Promise<void> {
  const lines = results.map(({ row, status, nonce, hash, blockNumber, gasUsed, error }) =>
    [
      row.line,
      row.id,
      row.to,
      showAmount(row.amount, row.money),
      status,
      nonce,
      hash,
      blockNumber,
      gasUsed,
      error,
    ]
      .map(cell)
      .join(','),
  )
  await writeFile(path, `${[HEAD.join(','), ...lines].join('\n')}\n`, { mode: 0o600 })
}

/** Quotes a cell if necessary (RFC 4180), and prevents spreadsheet formulas. */
function cell(value: unknown): string {
  if (value === undefined) return ''
  const text = /^[=+@\t\r-]/.test(String(value)) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
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
