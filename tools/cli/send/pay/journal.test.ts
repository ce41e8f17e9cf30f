import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rowsOfCsv } from '../file/payout.fixture.js'
import type { Money, Row } from '../file/rows.js'
import {
  checkNotRenamed,
  checkSame,
  filesOf,
  journalOf,
  namesIn,
  readJournal,
  writeJournal,
} from './journal.js'

const ACCOUNT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const ABOUT = { chainId: 1, account: ACCOUNT, plan: 'a' } as const
const lines = (...amounts: readonly number[]) =>
  ['to,amount', ...amounts.map((amount) => `${ACCOUNT},${amount} wei`)].join('\n')
const named = (...rows: readonly string[]) => ['id,to,amount', ...rows].join('\n')

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-journal-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const BEGUN = '2026-11-29T15:43:23.000Z'

function journal(name: string, text: string, about: Parameters<typeof journalOf>[2] = ABOUT) {
  const payout = { columns: text.split('\n')[0]?.split(',') ?? [], rows: rowsOfCsv(text) }
  return journalOf(join(folder, name), payout, about, BEGUN)
}

async function sent(name: string, text: string, about?: Parameters<typeof journalOf>[2]) {
  await writeFile(join(folder, name), text)
  await writeJournal(filesOf(join(folder, name)), journal(name, text, about))
}

test('reads a written journal, which only its owner can read', async () => {
  await sent('a.csv', lines(1, 2))
  const files = filesOf(join(folder, 'a.csv'))
  await writeFile(files.database, '')
  const read = await readJournal(files)
  expect(read).toEqual(JSON.parse(JSON.stringify(journal('a.csv', lines(1, 2)))))
  expect((await stat(files.journal)).mode & 0o777).toBe(0o600)
  expect(() => checkSame(read!, journal('a.csv', lines(1, 2)))).not.toThrow()
})

test('refuses a journal without its database, and a database without its journal', async () => {
  const files = filesOf(join(folder, 'a.csv'))
  expect(await readJournal(files)).toBeUndefined()
  await sent('a.csv', lines(1))
  await expect(readJournal(files)).rejects.toThrow(
    /a\.csv\.txlane\.db, which records the payments, is missing/,
  )
  await writeFile(files.database, '')
  await writeFile(files.journal, '{"version":1')
  await expect(readJournal(files)).rejects.toThrow('is not a journal of txlane')
  await rm(files.journal)
  await expect(readJournal(files)).rejects.toThrow('restore it')
})

test('refuses an edited file, and names the differences', () => {
  const before = journal('a.csv', named(`1,${ACCOUNT},1 wei`, `2,${ACCOUNT},2 wei`))
  const after = journal('a.csv', named(`1,${ACCOUNT},9 wei`, `3,${ACCOUNT},3 wei`))
  expect(() => checkSame(before, after)).toThrow(
    new RegExp(
      [
        'has changed since:',
        `  gone: line 3, 2 wei to ${ACCOUNT} .2.`,
        `  new: line 3, 3 wei to ${ACCOUNT} .3.`,
        `  changed: line 2 .1., was 1 wei to ${ACCOUNT}, is 9 wei to ${ACCOUNT}`,
      ].join('\\n'),
    ),
  )
})

test('another chain, account or file name is no change of the file: the refusal says what to give', () => {
  const before = journal('a.csv', lines(1))
  const refused = (change: Partial<typeof before>) =>
    expect(() => checkSame(before, { ...before, ...change }))
  refused({ chainId: 8453 }).toThrow(
    /on chain 1, and the node is one of chain 8453: give --rpc with a node of chain 1\.$/,
  )
  const other = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
  refused({ account: other }).toThrow(
    new RegExp(`from ${ACCOUNT}, and the key is that of ${other}: give the key of ${ACCOUNT}\\.$`),
  )
  refused({ file: 'b.csv' }).toThrow(/^b\.csv\.txlane\.json is the journal of a\.csv, and not of b\.csv/)
  expect(() =>
    checkSame(before, { ...before, account: ACCOUNT.toLowerCase() as typeof ACCOUNT }),
  ).not.toThrow()
})

test('refuses a renamed file, and a file whose lines were sent from another file', async () => {
  await sent('a.csv', lines(1, 2, 3))
  await rm(join(folder, 'a.csv'))
  const renamed = () => checkNotRenamed(join(folder, 'b.csv'), ABOUT, rowsOfCsv(lines(1, 2, 3)))
  await expect(renamed()).rejects.toThrow(/3 lines of b\.csv were sent as a\.csv .* rename it back to a\.csv/)
  await writeFile(join(folder, 'a.csv'), lines(1, 2, 3))
  await expect(renamed()).rejects.toThrow('To pay them once more, add --again.')
  // Other lines, another account or chain, or only a few equal lines make it another file.
  await checkNotRenamed(join(folder, 'b.csv'), ABOUT, rowsOfCsv(lines(1, 7, 8, 9)))
  await checkNotRenamed(join(folder, 'b.csv'), { ...ABOUT, chainId: 5 }, rowsOfCsv(lines(1, 2, 3)))
  expect(await readFile(filesOf(join(folder, 'a.csv')).journal, 'utf8')).toContain('"version": 2')
})

// Written by txlane 0.1, which knew one currency for a file.
const FIRST_VERSION = `{
 "version": 1,
 "file": "a.csv",
 "chainId": 1,
 "account": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
 "begunAt": "2026-11-29T15:43:23.000Z",
 "rows": [
  {
   "line": 2,
   "id": "7d26a9e27d88eec9-1",
   "shown": "1 to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
   "content": "0x7d26a9e27d88eec90ad0e7e6143003105a12295d6f5282eed0c45b9a31c4814f"
  },
  {
   "line": 3,
   "id": "7d26a9e27d88eec9-2",
   "shown": "1 to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
   "content": "0x7d26a9e27d88eec90ad0e7e6143003105a12295d6f5282eed0c45b9a31c4814f"
  }
 ]
}
`

async function firstVersion() {
  const files = filesOf(join(folder, 'a.csv'))
  await writeFile(files.journal, FIRST_VERSION)
  await writeFile(files.database, '')
  const read = await readJournal(files)
  if (read === undefined) throw new Error('there is no journal')
  return read
}

test('a journal of the first version belongs to the same file, and to no other one', async () => {
  const before = await firstVersion()
  expect(() => checkSame(before, journal('a.csv', lines(1, 1)))).not.toThrow()
  expect(() => checkSame(before, journal('a.csv', lines(1, 2)))).toThrow(
    `  gone: line 3, 1 to ${ACCOUNT} (7d26a9e27d88eec9-2)`,
  )
  const renamed = checkNotRenamed(join(folder, 'b.csv'), ABOUT, rowsOfCsv(lines(1, 1)))
  await expect(renamed).rejects.toThrow('2 lines of b.csv were sent as a.csv')
  expect(namesIn(before).size).toBe(0)
})

test('the journal has what a report needs, and the addresses of names for later runs', async () => {
  const usdc: Money = { kind: 'token', address: ACCOUNT, symbol: 'USDC', decimals: 6 }
  const [row] = rowsOfCsv(lines(7)) as [Row]
  const { line, to, request } = row
  const rows = [
    row,
    { line, to, request, id: 'b', name: 'anna.eth', money: usdc, amount: 1_500_000n, cells: ['=x', ''] },
  ]
  const path = join(folder, 'a.csv')
  const files = filesOf(path)
  await writeJournal(files, journalOf(path, { columns: ['to', 'note'], rows }, ABOUT, BEGUN))
  await writeFile(files.database, '')
  const read = await readJournal(files)
  expect(read).toMatchObject({
    version: 2,
    file: 'a.csv',
    plan: 'a',
    begunAt: BEGUN,
    columns: ['to', 'note'],
    tokens: [{ address: ACCOUNT, symbol: 'USDC', decimals: 6 }],
    rows: [
      { line: 2, to: ACCOUNT, amount: '7', shown: `7 wei to ${ACCOUNT}` },
      {
        id: 'b',
        to: ACCOUNT,
        name: 'anna.eth',
        amount: '1500000',
        token: ACCOUNT,
        cells: ['=x', ''],
        shown: `1.5 USDC to anna.eth (${ACCOUNT})`,
      },
    ],
  })
  expect([...namesIn(read)]).toEqual([['anna.eth', ACCOUNT]])
})
