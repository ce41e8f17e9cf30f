import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { TABLE } from '../../src/ledger/table.js'
import { production } from '../house/rules.js'
import { readSources } from '../house/sources.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAGE = readFileSync(`${ROOT}docs/design.md`, 'utf8')
const ARCHITECTURE = readFileSync(`${ROOT}docs/architecture.md`, 'utf8')

const rows = [...PAGE.matchAll(/^\| +(\d+) \| (.+?) +\| (.+?) +\| (.+?) +\| (.+) \|$/gm)].map(
  ([, row, from = '', on = '', to = '', effect = '']) => ({
    row: Number(row),
    from: namesIn(from),
    on: namesIn(on),
    to: namesIn(to),
    effect,
  }),
)

test('the design page has every row of the table, with its states and events', () => {
  const wanted = TABLE.map(({ row, from, on, to }) => ({
    row,
    from: [...from].sort(),
    on: [...on].sort(),
    to: [...to].sort(),
  }))
  expect(rows.map(({ effect: _, ...row }) => row)).toEqual(wanted)
})

test('each row of the design page has an effect', () => {
  for (const { row, effect } of rows) expect(effect.length, `row ${row}`).toBeGreaterThan(10)
})

test('the architecture page names each folder of the source, and none that does not exist', () => {
  const named = new Set([...ARCHITECTURE.matchAll(/`((?:src|tools)\/[\w/]+)`/g)].map(([, path = '']) => path))
  const folders = ['src', 'tools'].flatMap((top) =>
    (existsSync(`${ROOT}${top}`) ? readdirSync(`${ROOT}${top}`, { withFileTypes: true }) : [])
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${top}/${name}`),
  )
  expect(folders.filter((path) => !named.has(path))).toEqual([])
  expect([...named].filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([])
})

test('the architecture page names the folders that a folder imports, unless it allows all lower ones', () => {
  const named = new Map<string, ReadonlySet<string>>()
  for (const [, folders = '', , imports = ''] of ARCHITECTURE.matchAll(
    /^\| (.+?) +\| (.+?) +\| (.+?) +\|$/gm,
  )) {
    if (/lower|everything/.test(imports)) continue
    const allowed = [...imports.matchAll(/`(\w+)/g)].map(([, name = '']) => name)
    for (const [, folder = ''] of folders.matchAll(/`(?:src|tools)\/(\w+)`/g))
      named.set(folder, new Set([folder, ...allowed]))
  }
  expect(named.size).toBeGreaterThan(8)
  const broken = production(readSources('src', 'tools')).flatMap(({ path, imports }) => {
    const allowed = named.get(path.split('/')[1] ?? '')
    return imports
      .filter(({ target }) => /^(?:src|tools)\//.test(target))
      .filter(({ target }) => allowed !== undefined && !allowed.has(target.split('/')[1] ?? ''))
      .map(({ target }) => `${path} imports ${target}`)
  })
  expect(broken).toEqual([])
})

function namesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name).sort()
}
