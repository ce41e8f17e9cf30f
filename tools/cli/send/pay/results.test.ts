import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Money, Row } from '../file/rows.js'
import { countStatuses, type RowResult, writeResults } from './results.js'

const folder = mkdtempSync(join(tmpdir(), 'txlane-results-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const money: Money = { kind: 'native', symbol: 'ETH' }
const row = (line: number, id: string) =>
  ({ line, id, to: '0xaa', amount: 5n, money, request: {}, cells: [] }) as unknown as Row

async function written(results: readonly RowResult[]): Promise<{ lines: string[]; mode: number }> {
  const path = join(folder, 'results.csv')
  await writeResults(path, results)
  return { lines: readFileSync(path, 'utf8').split('\n'), mode: statSync(path).mode & 0o777 }
}

test('writes an id or an error with quotes, commas and line breaks as one cell', async () => {
  const { lines } = await written([{ row: row(1, 'a,"b"'), status: 'failed', error: 'two, "words"' }])
  expect(lines[0]).toBe('line,id,to,amount,status,nonce,hash,block,gas_used,error')
  expect(lines[1]).toMatch(/^1,"a,""b""",0xaa,.*,failed,,,,,"two, ""words"""$/)
})

test.each(['=1+1', '+1', '-1', '@x', '\tx'])(
  'writes %j as text, not as a spreadsheet formula',
  async (id) => {
    const { lines } = await written([{ row: row(1, id), status: 'paid' }])
    expect(lines[1]).toContain(`1,'${id},`)
  },
)

test('counts and writes each status', async () => {
  const statuses = ['paid', 'reverted', 'failed', 'cancelled', 'unresolved', 'open'] as const
  const results = statuses.map((status, index) => ({ row: row(index + 1, status), status }))
  const { lines } = await written(results)
  expect(lines.slice(1, -1).map((line) => line.split(',')[4])).toEqual(statuses)
  expect(countStatuses(results)).toEqual(Object.fromEntries(statuses.map((status) => [status, 1])))
})
