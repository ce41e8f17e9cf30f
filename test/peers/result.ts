import { readFileSync } from 'node:fs'
import Table from 'cli-table3'
import type { createColors } from 'picocolors'
import type { Report } from './runner.js'
import type { Source, Subject } from './types.js'

type Cell =
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

type Colors = ReturnType<typeof createColors>

const WIDTHS = { name: 22, cell: 20, seenIn: 29 }

const NOT_A_PACKAGE = '* not a package of npm: its bug is replayed, but not the sender itself'

/** One row for each scenario and one column for each sender, followed by a description of each scenario. */
export function renderTable(result: Result, colors: Colors): string {
  const { subjects, scenarios } = result
  const table = new Table({
    head: ['', ...subjects.map(({ name, version }) => `${name} ${version}`), 'reported in'],
    colWidths: [WIDTHS.name, ...subjects.map(() => WIDTHS.cell), WIDTHS.seenIn],
    wordWrap: true,
    style: { head: [], border: [], compact: true },
  })
  for (const { name, cells, seenIn } of scenarios) {
    table.push([name, ...subjects.map((subject) => cellText(cells[subject.name], colors)), reported(seenIn)])
  }
  const abouts = scenarios.map(({ name, about }) => `${colors.bold(name.padEnd(WIDTHS.name))}${about}`)
  return [table.toString(), NOT_A_PACKAGE, '', ...abouts, '', ...verdict(result, colors), ''].join('\n')
}

function cellText(cell: Cell | undefined, colors: Colors): string {
  if (cell === undefined) return ''
  if ('notOffered' in cell) return colors.dim('not offered')
  return cell.ok ? colors.green(cell.words) : colors.red(cell.words)
}

function reported(seenIn: readonly Source[]): string {
  return seenIn.map(({ where, notAPackage }) => short(where) + (notAPackage ? '*' : '')).join(', ')
}

/** `viem#3142` for `wevm/viem#3142`; a path is cut to its file. */
function short(where: string): string {
  const [repository = '', path] = where.split(' ')
  const name = repository.slice(repository.indexOf('/') + 1)
  return path === undefined ? name : `${name} ${path.slice(path.lastIndexOf('/') + 1)}`
}

function verdict({ ok, subjects, scenarios, strays }: Result, colors: Colors): string[] {
  const passed = subjects.map(({ name }) => {
    const cells = scenarios.flatMap(({ cells }) => cells[name] ?? [])
    const judged = cells.flatMap((cell) => ('ok' in cell ? [cell.ok] : []))
    return `${name} ${judged.filter(Boolean).length} of ${judged.length}`
  })
  const line = `passed: ${passed.join(', ')}`
  return [
    ok ? colors.green(line) : colors.red(line),
    ...strays.map((stray) => colors.red(`unhandled: ${stray}`)),
  ]
}
