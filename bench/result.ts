import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LeftOut, Outcome } from './claim.js'
import type { ClaimName } from './claims/index.js'
import type { Machine } from './support/machine.js'

/** What one claim came to, with all that it depends on: claims can be measured one by one. */
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

/** Takes the place of what was written of the same claims; the others' stays. What failed or was left out is not written. */
export function writeResults(folder: string, results: Results): void {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, FILE)
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {}
  const measured = Object.fromEntries(Object.entries(results).filter(([, result]) => isMeasured(result)))
  writeFileSync(file, `${JSON.stringify({ ...before, ...measured }, undefined, 2)}\n`)
}
