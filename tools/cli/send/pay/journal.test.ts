import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkRows } from '../file/check.js'
import { readRows } from '../file/read.js'
import { checkNotRenamed, checkSame, filesOf, journalOf, readJournal, writeJournal } from './journal.js'

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

const rowsIn = (name: string, text: string) =>
  checkRows(readRows(name, text).rows, { kind: 'native', symbol: 'ETH' }, undefined).rows

function journal(name: string, text: string, about: Parameters<typeof journalOf>[2] = ABOUT) {
  const payout = { columns: text.split('\n')[0]?.split(',') ?? [], rows: rowsIn(name, text) }
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
  expect(() => checkSame(before, { ...before, chainId: 8453 })).toThrow('chainId: was 1, is 8453')
})

test('refuses a renamed file, and a file whose lines were sent from another file', async () => {
  await sent('a.csv', lines(1, 2, 3))
  await rm(join(folder, 'a.csv'))
  const renamed = () => checkNotRenamed(join(folder, 'b.csv'), ABOUT, rowsIn('b.csv', lines(1, 2, 3)))
  await expect(renamed()).rejects.toThrow(/3 lines of b\.csv were sent as a\.csv .* rename it back to a\.csv/)
  await writeFile(join(folder, 'a.csv'), lines(1, 2, 3))
  await expect(renamed()).rejects.toThrow('To pay them once more, add --again.')
  // Other lines, another account or chain, or only a few equal lines make it another file.
  await checkNotRenamed(join(folder, 'b.csv'), ABOUT, rowsIn('b.csv', lines(1, 7, 8, 9)))
  await checkNotRenamed(join(folder, 'b.csv'), { ...ABOUT, chainId: 5 }, rowsIn('b.csv', lines(1, 2, 3)))
  expect(await readFile(filesOf(join(folder, 'a.csv')).journal, 'utf8')).toContain('"version": 2')
})
