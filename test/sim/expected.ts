import { TABLE } from '../../src/ledger/table.js'
import { type Coverage, missing } from './coverage.js'

/** Rows that only a world with reorgs beyond `lossDepth` takes. */
const DEEP_ROWS: ReadonlySet<number> = new Set([32])

/** What a long simulation has to have been through, and was not. */
export function unexercised({ rows, outcomes, faults }: Coverage, { deep }: { deep: boolean }): string[] {
  const expectedRows = TABLE.map(({ row }) => row).filter((row) => deep || !DEEP_ROWS.has(row))
  return [
    ...missing(rows, expectedRows).map((row) => `row ${row}`),
    ...missing(outcomes, OUTCOMES),
    ...missing(faults, FAULTS),
  ]
}

/** Section 5: each meaning that an answer to a send may have. */
const OUTCOMES = ['accepted unknown']

/** By name: what the ports, the chain, the signer and the store do wrong. */
const FAULTS = ['reorg']
