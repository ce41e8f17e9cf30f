import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPool } from '../../src/store/postgres/driver.js'
import { type PostgresStoreOptions, postgresStore } from '../../src/store/postgres/index.js'
import { migrate, migrations } from '../../src/store/postgres/migrations.js'
import type { Lease, Store } from '../../src/types/store.js'
import { bundledChild } from '../support/bundleChild.js'
import { freePort } from '../support/freePort.js'
import { leaksOf } from '../support/leaks.js'
import { PASSWORD, startPostgres, type TestPostgres } from '../support/postgres.js'
import { postgresPool } from '../support/postgresPool.js'
import { change, ids, keep, liveIn, newLane, rejection, transactionIn, until } from './postgresSamples.js'

const run = promisify(execFile)

let server: TestPostgres
let raw: pg.Pool

beforeAll(async () => {
  server = await startPostgres()
  raw = postgresPool({ connectionString: server.connectionString, max: 2 })
})
afterAll(async () => {
  await raw?.end()
  await server?.stop()
})

async function withStore<T>(
  options: Partial<PostgresStoreOptions>,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = postgresStore({
    connectionString: server.connectionString,
    ...options,
  } as PostgresStoreOptions)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function count(query: string, ...values: unknown[]): Promise<number> {
  const { rows } = await raw.query(`SELECT count(*) AS count FROM ${query}`, values)
  return Number(rows[0].count)
}

describe('the tables', () => {
  it('are created once by several processes that start at the same time', async () => {
    const program = bundledChild(new URL('postgresStarter.ts', import.meta.url))
    const start = () =>
      run(process.execPath, [program], {
        env: { ...process.env, CONNECTION_STRING: server.connectionString, SCHEMA: 'at_once' },
      })
    const outputs = await Promise.all([start(), start(), start()])
    expect(outputs.map(({ stdout }) => stdout.trim())).toEqual(['fresh', 'fresh', 'fresh'])
    expect(await count('at_once.migrations')).toBe(migrations.length)
  })

  it('are created once over many pools at the same time', async () => {
    const stores = Array.from({ length: 8 }, () =>
      withStore({ schema: 'many' }, (s) => keep(s, newLane(), 'a')),
    )
    expect((await Promise.all(stores)).flat()).toHaveLength(8)
    expect(await count('many.migrations')).toBe(migrations.length)
  })

  it('are migrated step by step, each step once', async () => {
    const client = await raw.connect()
    const step = (version: number) => ({
      version,
      sql: (schema: string) => `CREATE TABLE ${schema}.t${version} ()`,
    })
    await migrate(client, 'steps', [step(1)])
    await migrate(client, 'steps', [step(1), step(2), step(3)])
    await migrate(client, 'steps', [step(1), step(2), step(3)])
    client.release()
    expect(await count('steps.migrations')).toBe(3)
    expect(await count("information_schema.tables WHERE table_schema = 'steps'")).toBe(4)
  })

  it('a step that fails leaves no change, and the steps before it remain', async () => {
    const client = await raw.connect()
    const good = { version: 1, sql: (schema: string) => `CREATE TABLE ${schema}.good ()` }
    const bad = { version: 2, sql: (schema: string) => `CREATE TABLE ${schema}.bad (); SELECT 1/0` }
    await rejection(migrate(client, 'broken', [good, bad]))
    client.release()
    expect(await count('broken.migrations')).toBe(1)
    expect(await count("information_schema.tables WHERE table_schema = 'broken'")).toBe(2)
  })

  it('that are newer than this code are not touched', async () => {
    await withStore({ schema: 'newer' }, (store) => keep(store, newLane(), 'a'))
    await raw.query('INSERT INTO newer.migrations (version) VALUES (1000)')
    await withStore({ schema: 'newer' }, async (store) => {
      const error = await rejection(keep(store, newLane(), 'b'))
      expect(error).toMatchObject({ name: 'TxlaneError', code: 'UNSUPPORTED' })
      expect(String(error)).toContain(`has version 1000; this version of txlane knows ${migrations.length} `)
    })
    expect(await count('newer.transactions')).toBe(1)
  })

  it('of two schemas are independent', async () => {
    const lane = newLane()
    await withStore({ schema: 'one' }, (store) => keep(store, lane, 'a'))
    await withStore({ schema: 'two' }, async (store) => {
      expect(await store.find(lane, { id: 'a' })).toBeUndefined()
    })
  })
})

describe('a store that cannot work reports that, and reveals no secret', () => {
  async function failure(connectionString: string): Promise<unknown> {
    return await withStore({ connectionString }, (store) => rejection(keep(store, newLane(), 'a')))
  }

  it('no process listens at the port', async () => {
    const error = await failure(`postgres://txlane:${PASSWORD}@127.0.0.1:${await freePort()}/postgres`)
    expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE', fate: 'notExecuted' })
    expect(error).not.toMatchObject({ details: 'unknown' })
    expect(String(error)).toMatch(/ECONNREFUSED/)
    expect(leaksOf(error, [PASSWORD])).toEqual([])
  })

  it('the password is wrong', async () => {
    const error = await failure(server.connectionString.replace(PASSWORD, 'wr%6Fng-word'))
    expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE', fate: 'notExecuted' })
    expect(leaksOf(error, ['wr%6Fng-word', 'wrong-word'])).toEqual([])
  })

  it('the server never answers', async () => {
    const silent = createServer((socket) => void socket.resume())
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    const store = postgresStore({
      connectionString: `postgres://a:${PASSWORD}@127.0.0.1:${port}/a`,
      timeoutMs: 200,
    })
    const error = await rejection(keep(store, newLane(), 'a'))
    expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE', fate: 'notExecuted' })
    expect(leaksOf(error, [PASSWORD])).toEqual([])
    await Promise.all([store.close(), new Promise((resolve) => silent.close(resolve))])
  })

  it('the connection string is invalid', () => {
    for (const connectionString of [
      '',
      `host=a password=${PASSWORD}`,
      `postgres://u:${PASSWORD}@[`,
      5 as never,
    ]) {
      const open = () => postgresStore({ connectionString })
      expect(open).toThrow(expect.objectContaining({ code: 'INVALID', fate: 'notExecuted' }))
      expect(leaksOf(thrownBy(open), [PASSWORD])).toEqual([])
    }
  })

  it('an option is invalid', () => {
    const { connectionString } = server
    for (const bad of [{ schema: 'a"; DROP' }, { schema: 'pg_own' }, { poolMax: 0 }, { retentionMs: -1 }])
      expect(() => postgresStore({ connectionString, ...bad })).toThrow(
        expect.objectContaining({ code: 'INVALID' }),
      )
  })

  it('the package pg is not installed', async () => {
    const load = () => Promise.reject(new Error("Cannot find package 'pg'"))
    const error = await rejection(openPool(server.connectionString, { max: 1, timeoutMs: 1 }, load))
    expect(error).toMatchObject({ name: 'TxlaneError', code: 'UNSUPPORTED', fate: 'notExecuted' })
    expect(String(error)).toContain('npm install pg')
  })

  it('the store is closed', async () => {
    const store = postgresStore({ connectionString: server.connectionString })
    await store.close()
    await store.close()
    expect(await rejection(keep(store, newLane(), 'a'))).toMatchObject({ name: 'TxlaneError', code: 'STORE' })
  })
})

describe('a pool that the caller passes in', () => {
  it('stays open, and gets its connections back', async () => {
    const pool = postgresPool({ connectionString: server.connectionString, max: 3 })
    const store = postgresStore({ pool })
    const off = store.watch(newLane(), () => {})
    await keep(store, newLane(), 'a')
    off()
    await store.close()
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await until(() => pool.idleCount === pool.totalCount)
    await pool.end()
  })

  it('with one connection is polled each second', async () => {
    const pool = postgresPool({ connectionString: server.connectionString, max: 1 })
    const store = postgresStore({ pool })
    const lane = newLane()
    let hints = 0
    store.watch(lane, () => {
      hints++
    })
    await keep(store, lane, `${lane.address}a`)
    await until(() => hints > 0)
    await store.close()
    await pool.end()
  })
})

describe('a hint', () => {
  it('carries the newest sequence of the lane, so that a lease owner recognises its own writes', async () => {
    await withStore({}, async (store) => {
      const lane = newLane()
      const heard: (number | undefined)[] = []
      store.watch(lane, (sequence) => void heard.push(sequence))
      // Called without a sequence once it listens.
      await until(() => heard.length > 0)
      const [a] = await keep(store, lane, `${lane.address}a`, `${lane.address}b`)
      await until(() => heard.at(-1) === 2)
      const lease = (await store.acquire(lane, 'holder', 600_000)) as Lease
      const hints = heard.length
      await store.write(lease, change({ transactions: [{ ...a!, stage: 'signed' }], cursor: 1 }))
      await until(() => heard.length > hints)
      expect(heard.at(-1)).toBe(2)
      await store.postCommand(lane, `${lane.address}a`, { kind: 'cancel' })
      await until(() => heard.at(-1) === 3)
      await store.release(lease)
      await until(() => heard.at(-1) === undefined)
    })
  })
})

describe('a transaction that has ended', () => {
  it('is deleted after its retention with its hashes, and open transactions stay', async () => {
    await withStore({ retentionMs: 0, schema: 'short' }, async (store) => {
      const lane = newLane()
      const lease = (await store.acquire(lane, 'holder', 600_000)) as Lease
      const [a, b] = await keep(store, lane, 'a', 'b')
      const slots = [liveIn(lane, 0, 'a', 'a1'), liveIn(lane, 1, 'b', 'b1')]
      const ended = { ...a!, stage: 'cancelled' as const }
      const outbox = await store.takeOutbox('orders', 'me', 600_000)
      const { chainId, genesisHash } = lane
      const reported = ['a', 'b'].map((id) => {
        return { chain: { chainId, genesisHash }, id, state: 'open', count: 0, tries: 0 } as const
      })
      await store.writeOutbox(outbox!, { read: [], deliveries: reported })
      await store.write(
        lease,
        change({ slots, transactions: [ended, { ...b!, stage: 'signed' }], cursor: 2 }),
      )
      await until(async () => {
        await store.write(lease, change({ slots, cursor: 2 }))
        return (await store.find(lane, { id: 'a' })) === undefined
      })
      await store.write(lease, change({ slots, cursor: 2 }))
      expect(await count('short.hashes')).toBe(1)
      // Deliveries of an outbox are deleted, too.
      expect(await count('short.deliveries')).toBe(1)
      expect(ids((await store.load(lease)).transactions)).toEqual(['b'])
      expect((await store.enqueue([transactionIn(lane, 'a')])).map(({ fresh }) => fresh)).toEqual([true])
    })
  })

  it('is kept for 30 days by default', async () => {
    await withStore({ schema: 'long' }, async (store) => {
      const lane = newLane()
      const lease = (await store.acquire(lane, 'holder', 600_000)) as Lease
      const kept = await keep(store, lane, 'young', 'old')
      const transactions = kept.map((one) => ({ ...one, stage: 'finalized' as const }))
      await store.write(lease, change({ transactions }))
      for (const [id, age] of [
        ['young', '29 days'],
        ['old', '31 days'],
      ]) {
        await raw.query(`UPDATE long.transactions SET ended_at = now() - $2::interval WHERE id = $1`, [
          id,
          age,
        ])
      }
      await until(async () => {
        await store.write(lease, change({}))
        return (await store.find(lane, { id: 'old' })) === undefined
      })
      expect(await store.find(lane, { id: 'young' })).toBeDefined()
    })
  })
})

describe('concurrent work', () => {
  it('writes of several stores to the same lanes in crossing order do not deadlock', async () => {
    const lanes = Array.from({ length: 6 }, newLane)
    const stores = Array.from({ length: 3 }, () =>
      postgresStore({ connectionString: server.connectionString }),
    )
    const batches = stores.flatMap((store, index) =>
      Array.from({ length: 10 }, (_, round) => {
        const order = (index + round) % 2 ? lanes : [...lanes].reverse()
        return store.enqueue(order.map((lane) => transactionIn(lane, `${lane.address}-${round}`)))
      }),
    )
    const fresh = (await Promise.all(batches)).flat().filter((one) => one.fresh)
    expect(fresh).toHaveLength(60)
    await Promise.all(stores.map((store) => store.close()))
  })

  it('one connection listens for any number of watched lanes, and none if no lane is watched', async () => {
    await withStore({}, async (store) => {
      const offs = Array.from({ length: 50 }, () => store.watch(newLane(), () => {}))
      const listening = () => count(`pg_stat_activity WHERE query = 'LISTEN "txlane:txlane"'`)
      await until(async () => (await listening()) === 1)
      for (const off of offs) off()
      await until(async () => (await listening()) === 0)
    })
  })
})

function thrownBy(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
