import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { TABLE } from '../../src/ledger/table.js'

const PAGE = readFileSync(new URL('../../docs/design.md', import.meta.url), 'utf8')

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

function namesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name).sort()
}
