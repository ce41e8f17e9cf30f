import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PayoutReport } from '../../../report/payout/payout.js'
import type { Money, Row } from '../file/rows.js'
import { filesOf, journalOf, writeJournal } from './journal.js'
import { readPayoutReport } from './payoutReport.js'
import { type RowResult, writeResults } from './results.js'
import { writePages } from './writePages.js'

const ACCOUNT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const ANNA = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const ETHER: Money = { kind: 'native', symbol: 'ETH' }
const USDC: Money = { kind: 'token', address: ACCOUNT, symbol: 'USDC', decimals: 6 }
const HASH = `0x${'1'.repeat(64)}` as const
const BEGUN = '2026-11-29T15:43:23.000Z'
const TIME = '2026-11-29T15:44:00.000Z'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-payout-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const row = (line: number, rest: Partial<Row>): Row => ({
  line,
  id: `=${line}`,
  to: ANNA,
  amount: 10n ** 18n,
  money: ETHER,
  request: { to: ANNA, value: 10n ** 18n },
  cells: [`=${line}`, 'Zoë, "the first"', ''],
  ...rest,
})

const ROWS = [
  row(2, { name: 'anna.eth', cells: ['=2', 'Zoë, "the first"', 'Anna Müller'] }),
  row(3, { money: USDC, amount: 2_500_000n }),
  row(4, { cells: ['4', '', 'Bob'] }),
  row(5, {}),
]

const RESULTS: readonly RowResult[] = [
  {
    row: ROWS[0] as Row,
    status: 'paid',
    nonce: 7,
    hash: HASH,
    blockNumber: 12n,
    gasUsed: 21_000n,
    feeWei: 21_000_000_000_001n,
    sharedBy: 3,
  },
  { row: ROWS[1] as Row, status: 'reverted', nonce: 8, hash: HASH, blockNumber: 13n, feeWei: 5n },
  { row: ROWS[2] as Row, status: 'failed', error: '-- "no", he said\nand left' },
]

async function pay(results = RESULTS): Promise<string> {
  const path = join(folder, 'pay.csv')
  const files = filesOf(path)
  const payout = { columns: ['ID', 'Memo', 'Employee Name'], rows: ROWS }
  const about = { chainId: 8_453, account: ACCOUNT, plan: 'a'.repeat(40) } as const
  await writeJournal(files, journalOf(path, payout, about, BEGUN))
  await writeResults(files.results, payout.columns, results, {
    symbol: 'ETH',
    times: new Map([[12n, TIME]]),
  })
  return path
}

const EXPECTED: PayoutReport = {
  file: 'pay.csv',
  chain: { id: 8_453, name: 'Base', symbol: 'ETH', explorer: 'https://basescan.org' },
  account: ACCOUNT,
  begunAt: BEGUN,
  lines: [
    {
      line: 2,
      id: '=2',
      to: ANNA,
      name: 'Anna Müller (anna.eth)',
      note: 'Zoë, "the first"',
      amount: 10n ** 18n,
      money: { symbol: 'ETH', decimals: 18, token: undefined },
      status: 'paid',
      nonce: 7,
      hash: HASH,
      block: 12n,
      time: TIME,
      feeWei: 21_000_000_000_001n,
      sharedBy: 3,
    },
    {
      line: 3,
      id: '=3',
      to: ANNA,
      note: 'Zoë, "the first"',
      amount: 2_500_000n,
      money: { symbol: 'USDC', decimals: 6, token: ACCOUNT },
      status: 'reverted',
      nonce: 8,
      hash: HASH,
      block: 13n,
      feeWei: 5n,
      sharedBy: 1,
    },
    {
      line: 4,
      id: '=4',
      to: ANNA,
      name: 'Bob',
      amount: 10n ** 18n,
      money: { symbol: 'ETH', decimals: 18, token: undefined },
      status: 'failed',
      error: '-- "no", he said\nand left',
    },
    {
      line: 5,
      id: '=5',
      to: ANNA,
      note: 'Zoë, "the first"',
      amount: 10n ** 18n,
      money: { symbol: 'ETH', decimals: 18, token: undefined },
      status: 'open',
    },
  ],
}

test.each(['', '.txlane.json', '.results.csv'])(
  'reads back what was written, from the path of the file and "%s"',
  async (ending) => {
    const path = await pay()
    expect(JSON.parse(json(await readPayoutReport(`${path}${ending}`)))).toEqual(JSON.parse(json(EXPECTED)))
  },
)

const json = (report: PayoutReport): string =>
  JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? `${value}` : value))

test('refuses a payout without journal or results, and files of an earlier version, with the remedy', async () => {
  await expect(readPayoutReport(join(folder, 'none.csv'))).rejects.toThrow(
    /none\.csv\.txlane\.json cannot be read\. A report needs the journal and the results/,
  )
  const path = await pay()
  const { journal, results } = filesOf(path)
  await writeFile(results, 'line,id,to,amount,status,nonce,hash,block,gas_used,error\n')
  await expect(readPayoutReport(path)).rejects.toThrow('Run txlane send once more')
  await writeFile(journal, (await readFile(journal, 'utf8')).replace('"version": 2', '"version": 1'))
  await expect(readPayoutReport(path)).rejects.toThrow(
    /An earlier version of txlane wrote .*pay\.csv\.txlane\.json/,
  )
})

test('writes the page and the accounting file beside the file that was paid, or the page where it is asked for', async () => {
  const path = await pay()
  const paths = { page: `${path}.report.html`, accounting: `${path}.accounting.csv` }
  expect(await writePages(`${path}.results.csv`)).toEqual(paths)
  expect(await readFile(paths.page, 'utf8')).toContain('Zoë')
  expect(await readFile(paths.accounting, 'utf8')).toContain('2.5')
  const page = join(folder, 'for-the-boss.html')
  expect(await writePages(path, page)).toEqual({ ...paths, page })
  expect(await readFile(page, 'utf8')).toContain('Zoë')
})
