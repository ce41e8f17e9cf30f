import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LeftOut, Outcome } from './claim.js'
import type { ClaimName } from './claims/index.js'
import type { Machine } from './support/machine.js'

/** The result of one claim with all its conditions, because claims can be measured separately. */
export type Measured = Outcome & {
  readonly says: string
  readonly rounds: number
  readonly transactions: number
  readonly machine: Machine
  readonly versions: Readonly<Record<string, string>>
  readonly measuredAt: string
}

export type ClaimResult = Measured | LeftOut | { readonly failed: string }

export type Results = { readonly [name in ClaimName]?: ClaimResult }

export function isReached(result: ClaimResult): boolean {
  return isMeasured(result) && result.checks.every(({ passed }) => passed)
}

export function isMeasured(result: ClaimResult): result is Measured {
  return !('failed' in result) && !('leftOut' in result)
}

const FILE = 'latest.json'

/**
 * Replaces earlier results of the same claims and keeps the others. Failed and skipped claims are not
 * written.
 */
export function writeResults(folder: string, results: Results): void {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, FILE)
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {}
  const measured = Object.fromEntries(Object.entries(results).filter(([, result]) => isMeasured(result)))
  writeFileSync(file, `${JSON.stringify({ ...before, ...measured }, undefined, 2)}\n`)
}
