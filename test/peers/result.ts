import { readFileSync } from 'node:fs'
import type { Report } from './runner.js'
import type { Source, Subject } from './types.js'

export type Cell =
  | { readonly ok: boolean; readonly words: string; readonly details: readonly string[] }
  | { readonly notOffered: true }

/** The output of `--json`. */
export type Result = {
  /** True if txlane has failed no scenario. */
  readonly ok: boolean
  readonly subjects: readonly { readonly name: string; readonly package: string; readonly version: string }[]
  readonly scenarios: readonly {
    readonly name: string
    readonly about: string
    readonly seenIn: readonly Source[]
    /** By the name of the subject. */
    readonly cells: Readonly<Record<string, Cell>>
  }[]
  readonly strays: readonly string[]
}

const OURS = 'txlane'

export function resultOf(report: Report, subjects: readonly Subject[]): Result {
  const scenarios = report.rows.map(({ scenario: { name, about, seenIn }, outcomes }) => ({
    name,
    about,
    seenIn,
    cells: Object.fromEntries(
      [...outcomes].map(([subject, outcome]): [string, Cell] => [
        subject,
        outcome.kind === 'notOffered' ? { notOffered: true } : outcome.verdict,
      ]),
    ),
  }))
  const lost = scenarios.some(({ cells }) => {
    const cell = cells[OURS]
    return cell !== undefined && 'ok' in cell && !cell.ok
  })
  const installed = subjects.map(({ name, package: of }) => ({ name, package: of, version: versionOf(of) }))
  return { ok: !lost && report.strays.length === 0, subjects: installed, scenarios, strays: report.strays }
}

function versionOf(name: string): string {
  const path = name === OURS ? '../../package.json' : `../../node_modules/${name}/package.json`
  const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}
