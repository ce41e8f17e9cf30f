import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Money, Row } from '../file/rows.js'
import { filesOf } from './journal.js'
import { checkPlan, planHash, planMade, writePlan } from './plan.js'

const ACCOUNT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const ANNA = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const ETHER: Money = { kind: 'native', symbol: 'ETH' }
const PURSE = { chainId: 1, account: ACCOUNT } as const
const MADE = '2026-11-29T15:43:23.000Z'

const row = (line: number, wei: bigint, rest: Partial<Row> = {}): Row => ({
  line,
  id: `id-${line}`,
  to: ANNA,
  amount: wei,
  money: ETHER,
  request: { to: ANNA, value: wei },
  cells: [],
  ...rest,
})
const ROWS = [row(2, 5n), row(3, 10n ** 18n)]

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-plan-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const token = (symbol: string): Money => ({ kind: 'token', address: ACCOUNT, symbol, decimals: 6 })

test.each<[string, readonly Row[], Partial<typeof PURSE> | undefined]>([
  ['amount', [row(2, 6n), row(3, 10n ** 18n)], undefined],
  ['recipient', [row(2, 5n, { to: ACCOUNT }), row(3, 10n ** 18n)], undefined],
  ['token', [row(2, 5n, { money: token('USDC') }), row(3, 10n ** 18n)], undefined],
  ['call', [row(2, 5n, { request: { to: ANNA, value: 5n, data: '0x01' } }), row(3, 10n ** 18n)], undefined],
  ['gas limit', [row(2, 5n, { request: { to: ANNA, value: 5n, gas: 9n } }), row(3, 10n ** 18n)], undefined],
  ['order', [row(2, 10n ** 18n), row(3, 5n)], undefined],
  ['line that is missing', [row(2, 5n)], undefined],
  ['chain', ROWS, { chainId: 5 as never }],
  ['account', ROWS, { account: ANNA as never }],
])('another %s is another plan', (_, rows, purse) => {
  const plan = planHash(PURSE, ROWS)
  expect(plan).toMatch(/^[0-9a-f]{40}$/)
  expect(planHash({ ...PURSE, ...purse }, rows)).not.toBe(plan)
})

test('ids, notes, capitals of an address and the name of a token are no part of the plan', () => {
  const other = [
    row(2, 5n, { id: 'x', cells: ['note'], to: ANNA.toLowerCase() as typeof ANNA }),
    ROWS[1] as Row,
  ]
  expect(planHash({ ...PURSE, account: ACCOUNT.toLowerCase() as typeof ACCOUNT }, other)).toBe(
    planHash(PURSE, ROWS),
  )
  const paid = (symbol: string) => planHash(PURSE, [row(2, 5n, { money: token(symbol) })])
  expect(paid('USDC')).toBe(paid('USDC.e'))
})

async function plan(rows: readonly Row[] = ROWS) {
  const path = join(folder, 'pay.csv')
  const files = filesOf(path)
  await writePlan(files, path, { ...PURSE, plan: planHash(PURSE, rows), madeAt: MADE }, rows)
  return files
}

test('a plan is found again by its hash and its time, and only its owner can read it', async () => {
  expect(await planMade(filesOf(join(folder, 'none.csv')))).toBeUndefined()
  const files = await plan()
  expect(files.plan).toBe(join(folder, 'pay.csv.txlane-plan.json'))
  expect(await planMade(files)).toEqual({ plan: planHash(PURSE, ROWS), madeAt: MADE })
  expect((await stat(files.plan)).mode & 0o777).toBe(0o600)
  expect(JSON.parse(await readFile(files.plan, 'utf8'))).toMatchObject({
    version: 1,
    file: 'pay.csv',
    chainId: 1,
    rows: [
      { line: 2, shown: `5 wei to ${ANNA}` },
      { line: 3, shown: `1 ETH to ${ANNA}` },
    ],
  })
})

const check = async (rows: readonly Row[], purse: typeof PURSE = PURSE, pinned?: string) =>
  checkPlan(await plan(), { ...purse, plan: planHash(purse, rows) }, rows, pinned)

test('refuses payments that are not those of the dry run, with the differences', async () => {
  await check(ROWS)
  await expect(check([row(2, 5n), row(3, 10n ** 19n), row(4, 1n)])).rejects.toThrow(
    new RegExp(
      [
        `not those of the dry run on ${MADE}\\. Nothing was sent\\.`,
        `  new: line 4, 1 wei to ${ANNA} .id-4.`,
        `  changed: line 3 .id-3., was 1 ETH to ${ANNA}, is 10 ETH to ${ANNA}`,
        'Check them with a new dry run .--dry-run., or remove ',
      ].join('\\n'),
    ),
  )
  await expect(check(ROWS, { ...PURSE, chainId: 8_453 as never })).rejects.toThrow('chainId: was 1, is 8453')
  const moved = [row(3, 10n ** 18n), row(2, 5n)]
  await expect(check(moved)).rejects.toThrow('The order is another one, from line 3 on.')
  const limited = [row(2, 5n, { request: { to: ANNA, value: 5n, gas: 9n } }), ROWS[1] as Row]
  await expect(check(limited)).rejects.toThrow('The gas limits')
})

test('--plan pins the payments, with and without a dry run in this folder', async () => {
  const pinned = planHash(PURSE, ROWS)
  await check(ROWS, PURSE, pinned)
  const files = filesOf(join(folder, 'other.csv'))
  const of = (rows: readonly Row[]) => ({ ...PURSE, plan: planHash(PURSE, rows) })
  await checkPlan(files, of(ROWS), ROWS, pinned)
  await expect(checkPlan(files, of(ROWS.slice(1)), ROWS.slice(1), pinned)).rejects.toThrow(
    `but --plan is ${pinned}. Nothing was sent.`,
  )
})
