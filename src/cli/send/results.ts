import { writeFile } from 'node:fs/promises'
import type { Hash } from 'viem'
import { showAmount } from './amounts.js'
import type { Money, Row } from './rows.js'

/**
 * What became of a line. `open`: not seen to its end yet, the next run goes on with it. `failed`: never ran and never
 * will, the next run sends it anew. `unresolved`: an operator has to say (see `resolve` in the library).
 */
export type RowStatus = 'paid' | 'reverted' | 'failed' | 'cancelled' | 'unresolved' | 'open'

export type RowResult = {
  readonly row: Row
  readonly status: RowStatus
  readonly nonce?: number | undefined
  readonly hash?: Hash | undefined
  readonly blockNumber?: bigint | undefined
  readonly gasUsed?: bigint | undefined
  readonly error?: string | undefined
}

const HEAD = ['line', 'id', 'to', 'amount', 'status', 'nonce', 'hash', 'block', 'gas_used', 'error']

/** Beside the file, written anew by each run. */
export async function writeResults(path: string, results: readonly RowResult[], money: Money): Promise<void> {
  const lines = results.map(({ row, status, nonce, hash, blockNumber, gasUsed, error }) =>
    [
      row.line,
      row.id,
      row.to,
      showAmount(row.amount, money),
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

/** Quoted where it has to be (RFC 4180); and never a formula, where a spreadsheet opens it. */
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
