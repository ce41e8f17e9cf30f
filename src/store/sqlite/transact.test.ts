import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Libsql from 'libsql'
import { afterAll, describe, expect, it } from 'vitest'
import type { LaneKey, Lease } from '../../types/store.js'
import { hashIn, liveIn, transactionIn } from '../contract/samples.js'
import { type Part, transact } from './open.js'
import { sqliteStore } from './sqliteStore.js'

const folder = mkdtempSync(join(tmpdir(), 'txlane-transact-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newPath = () => join(folder, `${++files}.db`)

// SQLite checks a deferred reference when it commits, and refuses the COMMIT if the reference is broken.
const REFERENCES = `
  CREATE TABLE parent (key INTEGER PRIMARY KEY);
  CREATE TABLE child (parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
`
const LEADS_NOWHERE = 'INSERT INTO child VALUES (9)'

describe('one transaction', () => {
  function attempt(work: (database: Libsql.Database) => void) {
    const path = newPath()
    const database = new Libsql(path)
    database.exec(`${REFERENCES} CREATE TABLE mark (one INTEGER)`)
    const failures: Part[] = []
    const run = () =>
      transact(
        database,
        'BEGIN IMMEDIATE',
        () => {
          database.exec('INSERT INTO mark VALUES (1)')
          work(database)
        },
        (error, part) => {
          failures.push(part)
          return new Error(part, { cause: error })
        },
      )
    const marks = () => new Libsql(path).prepare('SELECT * FROM mark').all().length
    return { run, marks, failures, database }
  }

  it('is committed as a whole', () => {
    const { run, marks, failures } = attempt(() => {})
    run()
    expect(marks()).toBe(1)
    expect(failures).toEqual([])
  })

  it.each<[string, Part, (database: Libsql.Database) => void]>([
    [
      'its work throws',
      'work',
      () => {
        throw new Error('no')
      },
    ],
    ['its COMMIT fails', 'commit', (database) => database.exec(LEADS_NOWHERE)],
    [
      'SQLite has rolled it back by itself',
      'work',
      (database) => {
        database.exec('ROLLBACK')
        throw new Error('no')
      },
    ],
  ])('is rolled back if %s, and the file is open to the next transaction', (_, part, work) => {
    const { run, marks, failures, database } = attempt(work)
    expect(run).toThrow(part)
    expect(failures).toEqual([part])
    expect(marks()).toBe(0)
    expect(transact(database, 'BEGIN IMMEDIATE', () => 'next')).toBe('next')
  })

  it('needs no rollback if it could not begin', () => {
    const { run, failures, database } = attempt(() => {})
    database.exec('BEGIN')
    expect(run).toThrow('within a transaction')
    expect(failures).toEqual([])
  })
})

describe('a failed write of the store', () => {
  it('has stored no hash: the next write stores it', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    const own = laneOf('0xaa')
    const lease = (await store.acquire(own, 'me', 60_000)) as Lease
    await store.enqueue([transactionIn(own, 'a')])
    const beside = new Libsql(path)
    beside.exec(`CREATE TRIGGER refuse BEFORE UPDATE OF cursor ON lane BEGIN SELECT RAISE(ABORT, 'no'); END`)
    const write = () =>
      store.write(lease, { slots: [liveIn(own, 0, 'a', 'a1')], transactions: [], cursor: 1 })
    await expect(write()).rejects.toMatchObject({ code: 'STORE' })
    beside.exec('DROP TRIGGER refuse')
    await write()
    expect((await store.find(own, { hash: hashIn(own, 'a1') }))?.id).toBe('a')
  })

  const laneOf = (address: string) =>
    ({ chainId: 31_337, genesisHash: `0x${'00'.repeat(32)}`, address }) as LaneKey

  // A failed COMMIT may be in the log, and recovery after a crash would apply it.
  it.each([
    ['its COMMIT', LEADS_NOWHERE, 'unknown'],
    ['its work', `SELECT RAISE(ABORT, 'no')`, 'no'],
  ])(
    'with a failure of %s is reported accordingly, and nothing learned in it is used',
    async (_, refusal, details) => {
      const path = newPath()
      const store = sqliteStore({ path })
      const own = laneOf('0xaa')
      await store.acquire(laneOf('0xbb'), 'me', 60_000)
      const beside = new Libsql(path)
      beside.exec(`${REFERENCES} CREATE TRIGGER refuse AFTER INSERT ON tx BEGIN ${refusal}; END`)
      await expect(store.enqueue([transactionIn(own, 'a')])).rejects.toMatchObject({ code: 'STORE', details })
      expect(await store.find(own, { id: 'a' })).toBeUndefined()
      beside.exec('DROP TRIGGER refuse')
      // Another process gets the row number that the lane would have had.
      const other = sqliteStore({ path })
      await other.acquire(laneOf('0xcc'), 'it', 60_000)
      await store.enqueue([transactionIn(own, 'a')])
      expect((await other.arrivals(own, 0, 10)).transactions.map(({ id }) => id)).toEqual(['a'])
    },
  )
})
