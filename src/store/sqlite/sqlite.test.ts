import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Libsql from 'libsql'
import { afterAll, describe, expect, it } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { LaneKey, Lease, Store } from '../../types/store.js'
import { hashIn, liveIn, transactionIn } from '../contract/samples.js'
import { storeContract } from '../contract/storeContract.js'
import { createConnection } from './connection.js'
import { isBusy } from './errors.js'
import { loadDriver, openDatabase } from './open.js'
import { APPLICATION_ID, MIGRATIONS } from './schema.js'
import { settingsOf, sqliteStore } from './sqliteStore.js'

const folder = mkdtempSync(join(tmpdir(), 'txlane-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newPath = () => join(folder, `${++files}.db`)
const lane: LaneKey = { chainId: 31_337, genesisHash: `0x${'00'.repeat(32)}`, address: '0xaa' }
const take = async (store: Store) => (await store.acquire(lane, 'me', 60_000)) as Lease
const modeOf = (path: string) => statSync(path).mode & 0o777

describe('two connections to one file pass the contract', () => {
  const path = newPath()
  const open = () => sqliteStore({ path, synchronous: 'NORMAL' })
  const setBack = (ms: number) => void new Libsql(path).exec(`UPDATE lane SET until_ms = until_ms + ${ms}`)
  for (const { name, run } of storeContract({ open, reopen: open, setBack })) it(name, run)
})

describe('the file', () => {
  it('is readable by its owner only, as are the files beside it', async () => {
    const path = newPath()
    const before = process.umask(0)
    try {
      await take(sqliteStore({ path }))
    } finally {
      process.umask(before)
    }
    expect([path, `${path}-wal`, `${path}-shm`].map(modeOf)).toEqual([0o600, 0o600, 0o600])
  })

  it('is created on first use of a store, and not before', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    expect(() => statSync(path)).toThrow('ENOENT')
    await store.find(lane, { id: 'a' })
    expect(statSync(path).isFile()).toBe(true)
  })

  it("has txlane's application id and the schema version", async () => {
    const path = newPath()
    await take(sqliteStore({ path }))
    const database = new Libsql(path)
    const [row] = database.pragma('application_id') as { application_id: number }[]
    const [version] = database.pragma('user_version') as { user_version: number }[]
    expect([row, version]).toEqual([{ application_id: APPLICATION_ID }, { user_version: MIGRATIONS.length }])
  })

  it('keeps everything when the store is closed and opened again', async () => {
    const path = newPath()
    const first = sqliteStore({ path })
    const lease = await take(first)
    const [kept] = await first.enqueue([transactionIn(lane, 'a')])
    await first.write(lease, { slots: [liveIn(lane, 3, 'a', 'a1')], transactions: [], cursor: 4 })
    await first.close()
    const second = sqliteStore({ path })
    expect(await second.load(lease)).toEqual({
      slots: [liveIn(lane, 3, 'a', 'a1')],
      transactions: [kept?.transaction],
      cursor: 4,
      arrived: 1,
    })
    expect((await second.find(lane, { hash: hashIn(lane, 'a1') }))?.id).toBe('a')
  })

  it('can be copied once the store is closed: nothing is left in the log', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    await store.enqueue([transactionIn(lane, 'a')])
    await store.close()
    const copy = newPath()
    writeFileSync(copy, readFileSync(path))
    expect((await sqliteStore({ path: copy }).find(lane, { id: 'a' }))?.id).toBe('a')
  })

  it('can be opened by several connections at once, each of which would create it', async () => {
    const path = newPath()
    const stores = Array.from({ length: 8 }, () => sqliteStore({ path }))
    const taken = await Promise.all(
      stores.map((store, index) => store.acquire(lane, `holder${index}`, 60_000)),
    )
    expect(taken.filter((lease) => lease !== undefined)).toHaveLength(1)
  })
})

describe('a new file that two processes open at once', () => {
  /** Returns undefined if the file is busy; then the caller tries again. */
  function tryToOpen(Driver: new (path: string) => Libsql.Database, path: string): number | undefined {
    try {
      const { database } = openDatabase(Driver, settingsOf({ path }))
      const [version] = database.prepare('PRAGMA user_version').raw().get() as [number]
      database.close()
      return version
    } catch (error) {
      if (isBusy(error)) return undefined
      throw error
    }
  }

  /** A second process opens the file and does all that it can before statement number `at` of the first. */
  function openedBeside(path: string, at: number) {
    let statements = 0
    const interrupt = () => {
      if (statements++ === at) other = tryToOpen(Libsql, path)
    }
    let other: number | undefined
    class Interrupted extends Libsql {
      constructor(file: string) {
        super(file)
        for (const name of ['prepare', 'exec'] as const) {
          const run = this[name].bind(this) as (sql: string) => never
          this[name] = (sql: string) => {
            interrupt()
            return run(sql)
          }
        }
      }
    }
    const first = tryToOpen(Interrupted, path)
    return { first, other, interrupted: statements > at }
  }

  it('belongs to both, whatever state of the first process the second sees', () => {
    let at = 0
    for (; ; at++) {
      const path = newPath()
      const { first, other, interrupted } = openedBeside(path, at)
      if (!interrupted) break
      // One of the two can always continue.
      expect([first, other]).toContain(MIGRATIONS.length)
      expect(tryToOpen(Libsql, path)).toBe(MIGRATIONS.length)
    }
    expect(at).toBeGreaterThan(10)
  })
})

describe('a file that does not work rejects with STORE and its path, and stays unchanged', () => {
  const failing = async (path: string) => {
    const store = sqliteStore({ path, busyTimeoutMs: 50 })
    const error = await take(store).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE', fate: 'inFlight' })
    expect((error as Error).message).toContain(path)
    return (error as { shortMessage: string }).shortMessage
  }

  it('a folder', async () => {
    expect(await failing(folder)).toContain('it is not a file')
  })

  it('a missing folder', async () => {
    expect(await failing(join(folder, 'nowhere', 'lanes.db'))).toContain('there is no folder')
  })

  it('a folder without write permission', async () => {
    await failing(process.platform === 'linux' ? '/proc/lanes.db' : '/System/lanes.db')
  })

  // Root may write everywhere.
  it.skipIf(process.getuid?.() === 0)('a file, or its folder, without write permission', async () => {
    const sealed = mkdtempSync(join(folder, 'sealed-'))
    const path = join(sealed, 'lanes.db')
    const store = sqliteStore({ path })
    await store.enqueue([transactionIn(lane, 'a')])
    await store.close()
    chmodSync(path, 0o400)
    expect(await failing(path)).toContain('may not be written to')
    chmodSync(path, 0o600)
    for (const beside of ['-wal', '-shm']) rmSync(`${path}${beside}`, { force: true })
    chmodSync(sealed, 0o500)
    await failing(path)
    await failing(join(sealed, 'other.db'))
    chmodSync(sealed, 0o700)
    expect((await sqliteStore({ path }).find(lane, { id: 'a' }))?.id).toBe('a')
  })

  it('a text', async () => {
    const path = newPath()
    writeFileSync(path, 'nonce,amount\n'.repeat(500))
    expect(await failing(path)).toContain('it is no SQLite database')
    expect(readFileSync(path, 'utf8')).toBe('nonce,amount\n'.repeat(500))
  })

  it('the database of another program', async () => {
    const path = newPath()
    const other = new Libsql(path)
    other.exec('CREATE TABLE payout (id INTEGER)')
    other.close()
    const before = readFileSync(path)
    expect(await failing(path)).toContain('belongs to another program')
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('a file of a later version', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    await take(store)
    await store.close()
    new Libsql(path).exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`)
    expect(await failing(path)).toContain('a later version of txlane made it')
  })

  it('a truncated file', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    await store.enqueue(Array.from({ length: 200 }, (_, index) => transactionIn(lane, `t${index}`)))
    await store.close()
    truncateSync(path, 16_384)
    const cut = sqliteStore({ path })
    const calls = [cut.enqueue([transactionIn(lane, 'new')]), cut.list([lane], { limit: 500 }), take(cut)]
    for (const error of (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected')) {
      expect((error as PromiseRejectedResult).reason).toMatchObject({ code: 'STORE' })
    }
    await expect(cut.list([lane], { limit: 500 })).rejects.toThrow(path)
  })

  it('an obstacle may be gone the next time', async () => {
    const path = newPath()
    writeFileSync(path, 'x'.repeat(5_000))
    const store = sqliteStore({ path })
    await expect(take(store)).rejects.toMatchObject({ code: 'STORE' })
    rmSync(path)
    expect((await take(store)).epoch).toBe(1)
  })
})

describe('a file locked by other connections', () => {
  /** In virtual time, with another process in the middle of a write. */
  async function locked() {
    const path = newPath()
    await take(sqliteStore({ path }))
    const other = new Libsql(path)
    const clock = createVirtualClock()
    const settings = settingsOf({ path, busyTimeoutMs: 100 })
    const connection = createConnection({ ...settings, undone: () => {}, clock })
    const done: string[] = []
    // Opened before the wait, because loading the driver takes real time.
    await connection.read(() => {})
    other.exec('BEGIN IMMEDIATE')
    return { clock, done, other, path, write: (name: string) => connection.write(() => void done.push(name)) }
  }

  it('is not waited for by SQLite itself, which would block the thread', async () => {
    const { database } = openDatabase(await loadDriver(), settingsOf({ path: newPath() }))
    expect(database.prepare('PRAGMA busy_timeout').raw().get()).toEqual([0])
    database.close()
  })

  it('rejects with STORE after the timeout, and nothing was written', async () => {
    const { clock, done, other, write } = await locked()
    const reported: unknown[] = []
    const writing = write('a').catch((error: unknown) => void reported.push(error))
    await clock.advance(99)
    expect(reported).toEqual([])
    await clock.advance(20)
    expect(reported).toEqual([
      expect.objectContaining({
        code: 'STORE',
        details: expect.not.stringContaining('unknown'),
        shortMessage: expect.stringContaining('other processes keep it locked'),
      }),
    ])
    await writing
    other.exec('COMMIT')
    expect(done).toEqual([])
  })

  it('rejects with STORE at once if the timeout is 0, and nothing was written', async () => {
    const { other, path } = await locked()
    const store = sqliteStore({ path, busyTimeoutMs: 0 })
    await expect(store.enqueue([transactionIn(lane, 'a')])).rejects.toMatchObject({ code: 'STORE' })
    other.exec('COMMIT')
    expect(await store.find(lane, { id: 'a' })).toBeUndefined()
  })

  it('writes run in the order of the calls, even if the first has to wait', async () => {
    const { clock, done, other, path, write } = await locked()
    const first = write('a')
    await clock.advance(30)
    expect(done).toEqual([])
    const store = sqliteStore({ path })
    const kept = ['a', 'b', 'c'].map((id) => store.enqueue([transactionIn(lane, id)]))
    other.exec('COMMIT')
    // By itself it would not have to wait any more.
    const second = write('b')
    await clock.advance(20)
    await Promise.all([first, second])
    expect(done).toEqual(['a', 'b'])
    const answers = (await Promise.all(kept)).flat()
    expect(answers.map(({ transaction }) => transaction.sequence)).toEqual([1, 2, 3])
  })
})

describe('the stored records', () => {
  it('may have any text as id: texts that differ after a NUL, or in half a surrogate pair, are different ids', async () => {
    const store = sqliteStore({ path: newPath() })
    const ids = ['a', 'a\u0000', 'a\u0000b', '\ud800', '\ud801', '"', '\\', '\\"', '\n']
    for (const id of ids) expect((await store.enqueue([transactionIn(lane, id)]))[0]?.fresh).toBe(true)
    for (const id of ids) expect((await store.find(lane, { id }))?.id).toBe(id)
    await store.postCommand(lane, 'a\u0000b', { kind: 'cancel' })
    expect((await store.arrivals(lane, 0, 20)).commands[0]?.id).toBe('a\u0000b')
  })

  it('are deleted some time after their end, with every hash; unfinished ones are not', async () => {
    const store = sqliteStore({ path: newPath(), retentionMs: 1, synchronous: 'NORMAL' })
    const lease = await take(store)
    const write = (change: object) =>
      store.write(lease, { slots: [], transactions: [], cursor: 0, ...change })
    const ids = Array.from({ length: 300 }, (_, index) => `t${index}`)
    await write({
      transactions: ids.map((id) => transactionIn(lane, id, { stage: 'finalized', hash: hashIn(lane, id) })),
      slots: ids.slice(0, 9).map((id, nonce) => liveIn(lane, nonce, id, `${id}bump`)),
    })
    await write({ transactions: [transactionIn(lane, 'open', { sequence: 301 })] })
    await new Promise((resolve) => setTimeout(resolve, 20))
    for (let round = 0; round < 200; round++) await write({ transactions: [transactionIn(lane, 'busy')] })
    expect(await store.find(lane, { hash: hashIn(lane, 't3bump') })).toBeUndefined()
    expect((await store.list([lane], { limit: 500 })).items.map(({ id }) => id)).toEqual(['open', 'busy'])

    // If a hash had been left, it would lead to the id's next transaction.
    await store.enqueue([transactionIn(lane, 't3')])
    expect(await store.find(lane, { hash: hashIn(lane, 't3bump') })).toBeUndefined()
  })
})

describe('the age of an ended transaction', () => {
  it('counts from its first end, however often it is written after that', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    const lease = await take(store)
    const [kept] = await store.enqueue([transactionIn(lane, 'a')])
    const ended = { ...kept!.transaction, stage: 'finalized' as const }
    const write = (sequence: number) =>
      store.write(lease, { slots: [], transactions: [{ ...ended, sequence }], cursor: 0 })
    await write(1)
    const raw = new Libsql(path)
    raw.exec('UPDATE tx SET ended_ms = 5')
    for (const sequence of [1, 2]) await write(sequence)
    expect(raw.prepare('SELECT ended_ms FROM tx').raw().get()).toEqual([5])
    raw.close()
  })
})

describe('a closed store', () => {
  it('accepts nothing more, and may be closed again; earlier calls are completed', async () => {
    const path = newPath()
    const store = sqliteStore({ path })
    const kept = store.enqueue([transactionIn(lane, 'a')])
    await store.close()
    await store.close()
    expect((await kept)[0]?.fresh).toBe(true)
    await expect(store.find(lane, { id: 'a' })).rejects.toMatchObject({ code: 'STORE' })
  })
})

describe('the options and the driver', () => {
  it.each([
    ['path', { path: '' }],
    ['path', { path: ':memory:' }],
    ['path', { path: 'https://example.com/lanes' }],
    ['path', { path: 'libsql://example.com' }],
    ['path', { path: 7 }],
    ['synchronous', { path: 'x', synchronous: 'OFF' }],
    ['retentionMs', { path: 'x', retentionMs: 0 }],
    ['retentionMs', { path: 'x', retentionMs: Number.NaN }],
    ['busyTimeoutMs', { path: 'x', busyTimeoutMs: -1 }],
  ])('an invalid %s is INVALID', (option, options) => {
    expect(() => sqliteStore(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID', shortMessage: expect.stringContaining(option) }),
    )
  })

  it('a missing driver is UNSUPPORTED, and the error names the package to install', async () => {
    const missing = () => Promise.reject(new Error("Cannot find package 'libsql'"))
    await expect(loadDriver(missing)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      shortMessage: expect.stringContaining('npm install libsql'),
    })
  })
})
