import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type RowState, TABLE } from '../../src/ledger/table.js'

const TEXT = readFileSync(new URL('../../docs/promises.md', import.meta.url), 'utf8')
const STATES: Readonly<Record<string, RowState>> = { '[*]': 'new' }

const edges = [...TEXT.matchAll(/^ {4}(\S+) --> (\w+): ([\d, ]+)$/gm)].map(
  ([, from = '', to = '', rows = '']) => ({
    from: STATES[from] ?? (from as RowState),
    to: to as RowState,
    rows: rows.split(', ').map(Number),
  }),
)

test('each arrow in the picture of the states is a row of the table', () => {
  expect(edges.length).toBeGreaterThan(15)
  for (const { from, to, rows } of edges) {
    for (const number of rows) {
      const row = TABLE.find((one) => one.row === number)
      expect(row?.from, `row ${number}, ${from} to ${to}`).toContain(from)
      expect(row?.to, `row ${number}, ${from} to ${to}`).toContain(to)
    }
  }
})

test('each row that leads only to one other state is in the picture', () => {
  const drawn = new Set(edges.flatMap(({ rows }) => rows))
  const moving = TABLE.filter(({ from, to }) => to.length === 1 && !from.includes(to[0] as RowState))
  expect(moving.length).toBeGreaterThan(8)
  for (const { row } of moving) expect([...drawn], `row ${row}`).toContain(row)
})
