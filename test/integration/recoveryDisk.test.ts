import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import Libsql from 'libsql'
import type { LocalAccount } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { shortTags } from '../support/shortTags.js'
import {
  type Life,
  markers,
  rejection,
  type SqliteShelf,
  sqliteShelf,
  startLife,
  transfer,
  until,
} from './recoverySupport.js'

const WORKER = new URL('recoveryDiskWorker.ts', import.meta.url)
const run = promisify(execFile)

let devnet: Devnet
let shelf: SqliteShelf
let nextAccount = 0
let account: LocalAccount
let life: Life | undefined

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, ...shortTags(400) })
})
beforeEach(() => {
  account = devnet.accounts[nextAccount++] as LocalAccount
  shelf = sqliteShelf()
})
afterEach(async () => {
  await life?.close()
  life = undefined
  shelf.dispose()
})
afterAll(() => devnet?.stop())

describe('a file that accepts no more writes', () => {
  test('P8: locked by another program: STORE, and nothing is sent; once it is free all lands once', async () => {
    const store = sqliteStore({ path: shelf.path, busyTimeoutMs: 50 })
    life = startLife({ devnet, account, shelf, store })
    const before = await life.sender.send(transfer(1), { id: 'before' })
    await before.wait('finalized')
    const sentBefore = life.sent.length

    const other = new Libsql(shelf.path)
    other.exec('BEGIN IMMEDIATE')
    const refused = await rejection(life.sender.send(transfer(2), { id: 'meanwhile' }))
    expect(refused).toMatchObject({ code: 'STORE', fate: 'notExecuted' })
    expect(String(refused.cause)).toContain('other processes keep it locked')
    expect(life.sent).toHaveLength(sentBefore)
    other.exec('ROLLBACK')
    other.close()

    const again = await life.sender.send(transfer(2), { id: 'meanwhile' })
    await again.wait('sealed')
    expect(await markers(devnet, account)).toEqual([1, 2])
  })

  test('P6, row 5: locked before an attempt is journaled: held, nothing is sent, and it lands once', async () => {
    const store = sqliteStore({ path: shelf.path, busyTimeoutMs: 50 })
    let locked: Libsql.Database | undefined
    // Locks the file between the enqueue of the transaction and the journaling of its attempt: while it is
    // signed.
    const signTransaction = ((...given: Parameters<LocalAccount['signTransaction']>) => {
      if (locked === undefined) {
        locked = new Libsql(shelf.path)
        locked.exec('BEGIN IMMEDIATE')
      }
      return account.signTransaction(...given)
    }) as LocalAccount['signTransaction']
    life = startLife({ devnet, account: { ...account, signTransaction }, shelf, store })
    const tx = await life.sender.send(transfer(1), { id: 'a', until: 'queued' })
    const tries = () => life?.failures() ?? 0
    await until(() => tries() >= 3)
    expect(life.events('held')[0]).toEqual({ reason: 'unknownCommit' })
    expect(life.sent).toEqual([])
    locked?.exec('ROLLBACK')
    locked?.close()
    await tx.wait('sealed')
    expect(tx.attempts).toHaveLength(1)
    expect(await markers(devnet, account)).toEqual([1])
  })

  test.skipIf(process.platform === 'win32')(
    'P8: the disk is full: STORE; stored transactions land once in the next life, the others do not',
    async () => {
      const command = [process.execPath, bundledChild(WORKER)]
      const given = [shelf.path, String(nextAccount - 1), JSON.stringify(devnet.chain)]
      // In blocks of 512 bytes: room for a few hundred transactions.
      const { stdout } = await run('sh', ['-c', 'ulimit -f 1200 && exec "$@"', 'sh', ...command, ...given])
      const said = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { marker: number; kept: boolean })
      const kept = said.filter((one) => one.kept).map(({ marker }) => marker)
      const refused = said.filter((one) => !one.kept)
      expect(kept.length).toBeGreaterThan(0)
      for (const one of refused) expect(one).toMatchObject({ code: 'STORE' })

      await shelf.expire()
      life = startLife({ devnet, account, shelf })
      await life.sender.ready()
      await life.sender.drain()
      const landed = (await markers(devnet, account)).sort((a, b) => a - b)
      expect(new Set(landed).size).toBe(landed.length)
      expect(landed).toEqual(expect.arrayContaining(kept))
      const certain = refused.filter((one) => (one as { fate?: string }).fate === 'notExecuted')
      for (const { marker } of certain) expect(landed).not.toContain(marker)
    },
  )
})
