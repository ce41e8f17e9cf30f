import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Money, Row } from '../file/rows.js'
import { countStatuses, type RowResult, writeResults } from './results.js'

const folder = mkdtempSync(join(tmpdir(), 'txlane-results-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const ETHER: Money = { kind: 'native', symbol: 'ETH' }
const USDC: Money = { kind: 'token', address: `0x${'a'.repeat(40)}`, symbol: 'USDC', decimals: 6 }
const HASH = `0x${'1'.repeat(64)}` as const
const row = (line: number, id: string, rest: Partial<Row> = {}) =>
  ({ line, id, to: '0xaa', amount: 5n, money: ETHER, request: {}, cells: [], ...rest }) as unknown as Row

type Written = { readonly lines: string[]; readonly mode: number }

async function written(
  results: readonly RowResult[],
  columns: readonly string[] = [],
  times: ReadonlyMap<bigint, string> = new Map(),
): Promise<Written> {
  const path = join(folder, 'results.csv')
  await writeResults(path, columns, results, { symbol: 'ETH', times })
  return { lines: readFileSync(path, 'utf8').split('\n'), mode: statSync(path).mode & 0o777 }
}

const ADDED =
  'line,id,recipient,paid,unit,token,status,nonce,hash,block,time,gas_used,fee,fee_unit,shared_by,error'

test('writes an id or an error with quotes, commas and line breaks as one cell', async () => {
  const { lines, mode } = await written([{ row: row(1, 'a,"b"'), status: 'failed', error: 'two, "words"' }])
  expect(lines[0]).toBe(ADDED)
  expect(lines[1]).toBe('1,"a,""b""",0xaa,0,ETH,,failed,,,,,,,,,"two, ""words"""')
  expect(mode).toBe(0o600)
})

test('writes all columns of the file first, unchanged, then the result of each line', async () => {
  const columns = ['ID', 'Wallet', 'Amount', 'amount', 'Line ']
  const cells = ['7', '0xAA', '5', '', '"x"']
  const result: RowResult = {
    row: row(2, '7', { amount: 5_000_000n, money: USDC, cells }),
    status: 'paid',
    nonce: 3,
    hash: HASH,
    blockNumber: 9n,
    gasUsed: 21_000n,
    feeWei: 42_000_000_000_000n,
    sharedBy: 4,
  }
  const { lines } = await written([result], columns, new Map([[9n, '2026-11-29T15:43:23.000Z']]))
  expect(lines[0]).toBe(`ID,Wallet,Amount,amount,Line ,${ADDED.replace('line,id', 'txlane_line,txlane_id')}`)
  expect(lines[1]).toBe(
    `7,0xAA,5,,"""x""",2,7,0xaa,5,USDC,${USDC.address},paid,3,${HASH},9,2026-11-29T15:43:23.000Z,21000,0.000042,ETH,4,`,
  )
})

test('the amounts paid in a column add up: 0 for a line that is not paid, nothing while that is not known', async () => {
  const statuses = ['paid', 'unmoved', 'reverted', 'failed', 'cancelled', 'unresolved', 'open'] as const
  const { lines } = await written(
    statuses.map((status, index) => ({ row: row(index, status, { amount: 10n ** 18n }), status })),
  )
  expect(lines.slice(1, -1).map((line) => line.split(',')[3])).toEqual(['1', '0', '0', '0', '0', '', ''])
})

test('the amount of a line that was paid in part is the amount that the recipient got', async () => {
  const half = { row: row(2, 'a', { amount: 10n ** 18n }), status: 'partial', received: 10n ** 17n } as const
  const { lines } = await written([half])
  expect(lines[1]?.split(',').slice(3, 7)).toEqual(['0.1', 'ETH', '', 'partial'])
})

test('a cell that a spreadsheet would run is text, in the columns of the file and in the added ones', async () => {
  const { lines } = await written([{ row: row(1, '＝1', { cells: ['=1+1'] }), status: 'paid' }], ['note'])
  expect(lines[1]).toMatch(/^'=1\+1,1,'＝1,/)
})

test('begins with a byte order mark if Excel would otherwise show other letters', async () => {
  const { lines } = await written([{ row: row(1, 'a', { cells: ['Zoë'] }), status: 'paid' }], ['note'])
  expect(lines[0]?.startsWith('\uFEFFnote,line')).toBe(true)
})

test('counts and writes each status', async () => {
  const statuses = [
    'paid',
    'partial',
    'unmoved',
    'reverted',
    'failed',
    'cancelled',
    'unresolved',
    'open',
  ] as const
  const results = statuses.map((status, index) => ({ row: row(index + 1, status), status }))
  const { lines } = await written(results)
  expect(lines.slice(1, -1).map((line) => line.split(',')[6])).toEqual(statuses)
  expect(countStatuses(results)).toEqual(Object.fromEntries(statuses.map((status) => [status, 1])))
})
