import { copyFileSync, existsSync, rmSync } from 'node:fs'
import type { LocalAccount } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { shortTags } from '../support/shortTags.js'
import { byHand, expirePostgres } from './recoveryPostgres.js'
import {
  blocks,
  type Life,
  markers,
  type Shelf,
  type SqliteShelf,
  sqliteShelf,
  sqliteShelfAt,
  startLife,
  transfer,
} from './recoverySupport.js'

// A store that knows less than the chain: unknown transactions may have been sent already, so nothing is sent
// before an operator has checked. After that the same ids mean new transactions, because the forgotten ones
// cannot be known.

/** A shelf that can be restored to an earlier backup. */
type Restorable = Shelf & {
  backUp(): Promise<void>
  /** No life may have it open. */
  restore(): Promise<void>
}

let devnet: Devnet
let server: TestPostgres
let nextAccount = 0
let account: LocalAccount
let shelf: SqliteShelf
const lives: Life[] = []

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 40, ...shortTags(400) })
  server = await startPostgres()
})
beforeEach(() => {
  account = devnet.accounts[nextAccount++] as LocalAccount
  shelf = sqliteShelf()
})
afterEach(async () => {
  await Promise.all(lives.splice(0).map((life) => life.close()))
  shelf.dispose()
})
afterAll(async () => {
  await devnet?.stop()
  await server?.stop()
})

/**
 * Copies the database file and its log. Deletes the old files first, because an open file must not change
 * under SQLite.
 */
function copyFile(from: string, to: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${to}${end}`, { force: true })
  for (const end of ['', '-wal'])
    if (existsSync(`${from}${end}`)) copyFileSync(`${from}${end}`, `${to}${end}`)
}

function sqliteBackup(): Restorable {
  const { path } = shelf
  return {
    ...shelf,
    backUp: async () => copyFile(path, `${path}.old`),
    restore: async () => copyFile(`${path}.old`, path),
  }
}

const TABLES = ['chains', 'lanes', 'slots', 'transactions', 'hashes', 'commands']

function postgresBackup(): Restorable {
  const { connectionString } = server
  const forEach = (sql: (table: string) => string) =>
    byHand(connectionString, async (client) => {
      for (const table of TABLES) await client.query(sql(table))
    })
  return {
    kind: 'postgres',
    open: () => postgresStore({ connectionString }),
    expire: () => expirePostgres(connectionString),
    async backUp() {
      await byHand(connectionString, (client) =>
        client.query('DROP SCHEMA IF EXISTS old CASCADE; CREATE SCHEMA old'),
      )
      await forEach((table) => `CREATE TABLE old.${table} AS TABLE txlane.${table}`)
    },
    async restore() {
      // The tables generate the keys of rows, but restored rows must keep their old keys.
      await forEach(
        (table) =>
          `DELETE FROM txlane.${table}; INSERT INTO txlane.${table} OVERRIDING SYSTEM VALUE SELECT * FROM old.${table}`,
      )
    },
  }
}

async function nextLife(on: Shelf): Promise<Life> {
  await on.expire()
  const life = startLife({ devnet, account, shelf: on })
  lives.push(life)
  return life
}

const send = (life: Life, marker: number, until?: 'queued') =>
  life.sender.send(transfer(marker), { id: `${account.address}-${marker}`, until })

async function sendAll(life: Life, ...all: number[]): Promise<void> {
  const txs = await Promise.all(all.map((marker) => send(life, marker)))
  await Promise.all(txs.map((tx) => tx.wait('sealed')))
  await life.sender.drain()
}

/** Asserts that the life reports its hold, and sends nothing for three more blocks. */
async function expectHeld(life: Life): Promise<void> {
  await life.sender.ready()
  expect(life.events('held')).toEqual([{ reason: 'storeBehindChain' }])
  await blocks(devnet, 3)
  expect((await life.sender.snapshot()).holds).toEqual(['storeBehindChain'])
  expect(life.sent).toEqual([])
}

describe.each([
  ['sqlite', sqliteBackup],
  ['postgres', postgresBackup],
])('a backup is restored (%s)', (_, backup) => {
  test('a transaction that was queued in it is held until resume, and lands once', async () => {
    const on = backup()
    const first = startLife({ devnet, account, shelf: on })
    await sendAll(first, 1)
    first.sender.pause()
    await send(first, 2, 'queued')
    await on.backUp()
    const waiting = await first.sender.get(`${account.address}-2`)
    first.sender.resume()
    await waiting?.wait('sealed')
    await sendAll(first, 3)
    await first.kill()
    expect(await markers(devnet, account)).toEqual([1, 2, 3])
    await on.restore()

    const second = await nextLife(on)
    await expectHeld(second)
    const again = await send(second, 4, 'queued')
    // The operator checks the chain: 2 is there, so the transaction that the store considers waiting is
    // cancelled.
    expect(await (await second.sender.get(`${account.address}-2`))?.cancel()).toEqual({ result: 'removed' })
    await blocks(devnet, 2)
    expect(second.sent).toEqual([])
    second.sender.resume()
    await again.wait('sealed')
    await second.sender.drain()
    expect(await markers(devnet, account)).toEqual([1, 2, 3, 4])
    expect(second.events('released')).toEqual([{ reason: 'storeBehindChain' }])
  })

  test('with nothing open in it: a transaction sent again under a forgotten id waits for resume', async () => {
    const on = backup()
    const first = startLife({ devnet, account, shelf: on })
    const tx = await send(first, 1)
    await tx.wait('finalized')
    await first.kill()
    await on.backUp()
    const second = await nextLife(on)
    await sendAll(second, 2)
    await lives.pop()?.kill()
    await on.restore()

    const third = await nextLife(on)
    const same = await send(third, 2, 'queued')
    await expectHeld(third)
    expect(await same.cancel()).toEqual({ result: 'removed' })
    third.sender.resume()
    await sendAll(third, 3)
    expect(await markers(devnet, account)).toEqual([1, 2, 3])
  })
})

test('a copied file, while the lane continues with the other one: held, and nothing of it is sent', async () => {
  const first = startLife({ devnet, account, shelf })
  lives.push(first)
  await sendAll(first, 1)
  const copy = sqliteShelfAt(`${shelf.path}.copy`)
  copyFile(shelf.path, copy.path)
  await sendAll(first, 2)
  const second = await nextLife(copy)
  await send(second, 3, 'queued')
  await expectHeld(second)
  await sendAll(first, 4)
  expect(await markers(devnet, account)).toEqual([1, 2, 4])
})

test('a file that is as new as the chain is not held', async () => {
  const first = startLife({ devnet, account, shelf })
  await sendAll(first, 1)
  await first.kill()
  const second = await nextLife(shelf)
  await sendAll(second, 2)
  expect(second.events('held')).toEqual([])
  expect(await markers(devnet, account)).toEqual([1, 2])
})
