import { expect, test } from 'vitest'
import type { Money, Row } from '../file/rows.js'
import type { RowResult } from '../pay/results.js'
import { type End, endJson, endText } from './endReport.js'

const ETHER: Money = { kind: 'native', symbol: 'ETH' }
const USDC: Money = { kind: 'token', address: `0x${'a'.repeat(40)}`, symbol: 'USDC', decimals: 6 }
const TIMES = new Map([
  [7n, '2026-11-29T15:43:23.000Z'],
  [9n, '2026-11-29T15:45:00.000Z'],
])

const row = (line: number, money: Money = ETHER, amount = 10n ** 18n) =>
  ({ line, id: `${line}`, to: '0xaa', money, amount }) as unknown as Row
const paid = (line: number, blockNumber = 7n, rest: Partial<RowResult> = {}): RowResult => ({
  row: row(line),
  status: 'paid',
  hash: `0x${line}`,
  blockNumber,
  feeWei: 21_000_000_000_000n,
  ...rest,
})
const open = (line: number, hash?: `0x${string}`): RowResult => ({
  row: row(line),
  status: 'open',
  hash,
  error: 'CLOSED: The sender was closed. The transaction may still execute.',
})

const end = (results: readonly RowResult[], rest: Partial<End> = {}): End => ({
  file: 'pay.csv',
  plan: 'abc',
  results,
  paidBefore: new Set(),
  executedBefore: new Set(),
  times: TIMES,
  seconds: 3.2,
  interrupted: false,
  native: ETHER,
  written: { results: 'pay.csv.results.csv' },
  ...rest,
})
const before = (...results: readonly RowResult[]) => {
  const rows = new Set(results.map((result) => result.row))
  return { paidBefore: rows, executedBefore: rows }
}

test('shows the totals, fees, blocks, time and files of a run', () => {
  const results = [paid(2), paid(3, 9n, { row: row(3, USDC, 2_500_000n) }), paid(4, 9n)]
  const written = { results: 'r.csv', page: 'r.html', accounting: 'a.csv' }
  expect(endText(end(results, { written }))).toBe(
    [
      'Paid 3 of 3 lines, 2 ETH and 2.5 USDC.',
      'fees        0.000063 ETH in 3 transactions',
      'blocks      7 to 9',
      'time        4 s',
      'results     r.csv',
      'report      r.html',
      'accounting  a.csv',
      '',
    ].join('\n'),
  )
})

test('counts a shared transaction once, and an unknown fee as unknown', () => {
  const shared = { hash: '0x1', sharedBy: 2 } as const
  const text = endText(end([paid(2, 7n, shared), paid(3, 7n, shared), paid(4, 7n, { feeWei: undefined })]))
  expect(text).toContain('fees     at least 0.000042 ETH in 2 transactions\n')
})

test('a second run of lines that ran without being paid says that nothing was sent, and has no costs', () => {
  const unmoved = paid(2, 7n, { status: 'unmoved', error: 'NO_TRANSFER: said.', hash: '0x1' })
  const text = endText(end([unmoved], { executedBefore: new Set([unmoved.row]) }))
  expect(text).toBe(
    [
      'Nothing was sent: none of 1 line is paid.',
      '  line 2 unmoved: NO_TRANSFER: said. (0x1)',
      'Unmoved lines were executed without effect: only --retry-reverted sends them again.',
      'results  pay.csv.results.csv',
      '',
    ].join('\n'),
  )
})

test('a line that was paid in part counts with the amount that its recipient got, and is listed', () => {
  const half = paid(2, 7n, { status: 'partial', received: 5n * 10n ** 17n, error: 'OTHER_AMOUNT: said.' })
  const text = endText(end([half]))
  expect(text).toMatch(/^Paid 1 of 1 line, 0\.5 ETH\.\n {2}line 2 partial: OTHER_AMOUNT: said\./)
})

test('a second run of a paid file says that nothing was sent, what was paid before, and when', () => {
  const results = [paid(2), paid(3, 9n)]
  expect(endText(end(results, before(...results)))).toBe(
    [
      'Nothing was sent: all 2 lines were paid before, 2 ETH, from 2026-11-29 15:43:23 UTC to 2026-11-29 15:45:00 UTC.',
      'results  pay.csv.results.csv',
      '',
    ].join('\n'),
  )
})

test('a resumed run reports its own payments and fees apart from the earlier ones', () => {
  const results = [paid(2), paid(3, 9n), paid(4, 9n)]
  expect(endText(end(results, before(results[0] as RowResult)))).toContain(
    [
      'Paid 2 lines in this run, 2 ETH.',
      '1 line was paid before, 1 ETH, at 2026-11-29 15:43:23 UTC: 3 of 3 lines are paid.',
      'fees     0.000042 ETH in 2 transactions',
      'block    9',
    ].join('\n'),
  )
})

test('after an interrupt it counts paid, signed and new lines, and shows no open line as an error', () => {
  const results = [paid(2), open(3, '0x3'), open(4, '0x4'), open(5), { row: row(6), status: 'open' } as const]
  const text = endText(end(results, { interrupted: true }))
  expect(text).toContain(
    [
      'Interrupted.',
      'Paid 1 of 5 lines, 1 ETH.',
      '2 lines are signed and may still be executed: the next run follows them. 2 lines were not begun, 2 ETH. Run the same command again to continue: no line is paid twice.',
      'fees ',
    ].join('\n'),
  )
  expect(text).not.toContain('CLOSED')
})

test('lists the lines that were not paid, at most ten of them, and the remedy for reverted ones', () => {
  const reverted = Array.from(
    { length: 12 },
    (_, at): RowResult => ({ ...paid(at + 2), status: 'reverted', error: 'it reverted' }),
  )
  const text = endText(end([...reverted, paid(20)]))
  expect(text).toContain('Paid 1 of 13 lines, 1 ETH.\n  line 2 reverted: it reverted (0x2)\n')
  expect(text).toContain(
    '  … and 2 more\nReverted lines were executed: only --retry-reverted sends them again.\n',
  )
  expect(endText(end([{ row: row(2), status: 'failed', error: 'no' }]))).toContain(
    'Paid none of 1 line.\n  line 2 failed: no\n',
  )
})

test('the JSON has the plan, a total for each currency, and a sum only if there is one currency', () => {
  const one = JSON.parse(endJson(end([paid(2), paid(3)], before(paid(9)))))
  expect(one).toMatchObject({
    plan: 'abc',
    paid: '2000000000000000000',
    paidBefore: 0,
    feesWei: '42000000000000',
    blocks: ['7', '7'],
    results: [{ line: 2, time: TIMES.get(7n), hash: '0x2' }, {}],
  })
  const two = JSON.parse(endJson(end([paid(2), paid(3, 7n, { row: row(3, USDC, 5n) })])))
  expect(two.paid).toBeUndefined()
  expect(two.totals).toMatchObject([
    { symbol: 'ETH', amount: '1000000000000000000', lines: 1 },
    { symbol: 'USDC', amount: '5', lines: 1 },
  ])
})
