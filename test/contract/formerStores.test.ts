import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  hashIn,
  liveIn,
  richSlots,
  richTransactions,
  transactionIn,
} from '../../src/store/contract/samples.js'
import { postgresStore } from '../../src/store/postgres/index.js'
import { migrate, migrations } from '../../src/store/postgres/migrations.js'
import { sqliteStore } from '../../src/store/sqlite/index.js'
import { loadDriver } from '../../src/store/sqlite/open.js'
import type { Lease, Store } from '../../src/types/store.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { postgresPool } from '../support/postgresPool.js'

// The files in `former/` were written by the versions of these store formats, through their own public
// functions: the samples of the contract suite, two commands, a report and an outbox with three deliveries.
// They are never written again.
const FORMATS = [6, 7]
const read = (name: string) => readFileSync(new URL(`./former/${name}`, import.meta.url), 'utf8')

const lane = { chainId: 5, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'a'.repeat(40)}` } as const
const chain = { chainId: lane.chainId, genesisHash: lane.genesisHash }

async function sqliteFile(format: number): Promise<string> {
  const path = join(mkdtempSync(join(tmpdir(), 'txlane-')), 'lane.db')
  const database = new (await loadDriver())(path)
  database.exec(read(`sqlite-${format}.sql`))
  database.close()
  return path
}

async function postgresTables(raw: pg.Pool, schema: string, format: number): Promise<void> {
  const client = await raw.connect()
  try {
    await migrate(client, schema, migrations.slice(0, format))
    for (const [table, rows] of Object.entries(JSON.parse(read(`postgres-${format}.json`))))
      await client.query(
        `INSERT INTO ${schema}.${table} OVERRIDING SYSTEM VALUE
         SELECT * FROM json_populate_recordset(NULL::${schema}.${table}, $1)`,
        [JSON.stringify(rows)],
      )
  } finally {
    client.release()
  }
}

let server: TestPostgres
let raw: pg.Pool
let schemas = 0

beforeAll(async () => {
  server = await startPostgres()
  raw = postgresPool({ connectionString: server.connectionString, max: 2 })
})
afterAll(async () => {
  await raw?.end()
  await server?.stop()
})

/** An opened store, and a function that runs a statement on its tables beside it. */
type Opened = {
  readonly store: Store
  query(statements: { sqlite: string; postgres: string }): Promise<readonly Record<string, unknown>[]>
}

async function openSqlite(format: number): Promise<Opened> {
  const path = await sqliteFile(format)
  const Driver = await loadDriver()
  return {
    store: sqliteStore({ path }),
    async query({ sqlite }) {
      const database = new Driver(path)
      const statement = database.prepare(sqlite)
      const rows = statement.reader ? (statement.all() as Record<string, unknown>[]) : []
      if (!statement.reader) statement.run()
      database.close()
      return rows
    },
  }
}

async function openPostgres(format: number): Promise<Opened> {
  const schema = `former_${++schemas}`
  await postgresTables(raw, schema, format)
  return {
    store: postgresStore({ connectionString: server.connectionString, schema }),
    async query({ postgres }) {
      const client = await raw.connect()
      try {
        await client.query(`SET search_path TO ${schema}`)
        return (await client.query(postgres)).rows
      } finally {
        client.release()
      }
    },
  }
}

const databases = [
  ['a SQLite file', openSqlite],
  ['PostgreSQL tables', openPostgres],
] as const

describe.each(
  databases.flatMap(([name, open]) => FORMATS.map((format) => [name, format, () => open(format)] as const)),
)('%s of format %i', (_, __, open) => {
  async function withStore(work: (store: Store, query: Opened['query']) => Promise<void>): Promise<void> {
    const { store, query } = await open()
    await withOpened(store, () => work(store, query))
  }
  const sequenced = [...richTransactions(lane), transactionIn(lane, 'told'), transactionIn(lane, 'dead')].map(
    (transaction, index) => ({ ...transaction, sequence: index + 1 }),
  )

  it('gives back each transaction, slot, hash and the cursor', () =>
    withStore(async (store) => {
      const lease = (await store.acquire(lane, 'next', 10_000)) as Lease
      const { slots, transactions, cursor } = await store.load(lease)
      expect(byKey(transactions, ({ id }) => id)).toEqual(byKey(sequenced, ({ id }) => id))
      expect(byKey(slots, ({ nonce }) => nonce)).toEqual(
        byKey([...richSlots(lane), liveIn(lane, 20, 'plain', 'p1')], ({ nonce }) => nonce),
      )
      expect(cursor).toBe(21)
      expect(await store.find(lane, { hash: hashIn(lane, 'p1') })).toMatchObject({ id: 'plain' })
    }))

  it('gives the posted commands to the next lease owner, in order, until they are done', () =>
    withStore(async (store) => {
      const { commands } = await store.arrivals(lane, 0, 10)
      expect(commands.map(({ id, command }) => ({ id, command }))).toEqual([
        { id: 'plain', command: { kind: 'speedUp', fees: { gasPrice: 3n } } },
        { id: 'full', command: { kind: 'resolve', fate: 'executed' } },
      ])
      const lease = (await store.acquire(lane, 'next', 10_000)) as Lease
      await store.write(lease, {
        slots: [],
        transactions: [],
        cursor: 21,
        commandsDoneUpTo: commands[0]?.sequence,
      })
      expect((await store.arrivals(lane, 0, 10)).commands).toEqual(commands.slice(1))
    }))

  it('gives back the report of the lane, and the deliveries of its outbox', () =>
    withStore(async (store) => {
      expect(await store.reports([lane])).toMatchObject([
        { lane, report: { holds: ['starved'], room: -3, load: 7, owedWei: 2n ** 70n } },
      ])
      const deliveries = await store.deliveries('orders', { chain, ids: ['full', 'dead', 'told'] })
      expect(byKey(deliveries, ({ id }) => id)).toEqual([
        { chain, id: 'dead', state: 'dead', count: 0, tries: 5, failure: 'gone' },
        {
          chain,
          id: 'full',
          state: 'open',
          delivered: { stage: 'sealed', life: 1, block: hashIn(lane, 'block') },
          next: { stage: 'reorged', life: 1 },
          count: 3,
          tries: 2,
          failure: 'HTTP 500: "no"\nnew line',
          sinceMs: 1_700_000_000_000,
        },
        {
          chain,
          id: 'told',
          state: 'delivered',
          delivered: { stage: 'failed', life: 0 },
          count: 1,
          tries: 0,
        },
      ])
    }))

  it('has each delivery in its state, with the present names', () =>
    withStore(async (store, query) => {
      const { open: waiting, dead } = await store.readOutbox('orders')
      expect([waiting, dead]).toEqual([1, 1])
      for (const state of ['open', 'dead'] as const)
        expect(await store.deliveries('orders', { state, limit: 9 })).toMatchObject([{ state }])
      const states = 'SELECT state FROM'
      expect(
        await query({
          sqlite: `${states} delivery ORDER BY state`,
          postgres: `${states} deliveries ORDER BY state`,
        }),
      ).toEqual([{ state: 'dead' }, { state: 'delivered' }, { state: 'open' }])
      const indexes = await query({
        sqlite: `SELECT sql FROM sqlite_schema WHERE name = 'delivery_waits'`,
        postgres: `SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema AND indexname = 'deliveries_waiting'`,
      })
      expect(indexes).toHaveLength(1)
      expect(JSON.stringify(indexes)).not.toContain('told')
    }))

  it('gives back a delivery that a process of the former version writes after the migration', () =>
    withStore(async (store, query) => {
      const ids = ['told']
      const before = await store.deliveries('orders', { chain, ids })
      const body = `{"v":1,"delivery":{"chain":{"chainId":5,"genesisHash":"${lane.genesisHash}"},"id":"told","state":"told","told":{"stage":"failed","life":0},"count":1,"tries":0}}`
      const set = `SET state = 'told', body = '${body}' WHERE`
      await query({
        sqlite: `UPDATE delivery ${set} state = 'delivered'`,
        postgres: `UPDATE deliveries ${set} state = 'delivered'`,
      })
      expect(await store.deliveries('orders', { chain, ids })).toEqual(before)
      const { open: waiting, dead } = await store.readOutbox('orders')
      expect([waiting, dead]).toEqual([1, 1])
    }))
})

it('the migration of PostgreSQL tables writes only the deliveries that wait, not the many others', async () => {
  const schema = `former_${++schemas}`
  await postgresTables(raw, schema, 7)
  const writers = async () =>
    (await raw.query(`SELECT id, xmin::text AS writer FROM ${schema}.deliveries ORDER BY id`)).rows
  const [dead, full, delivered] = await writers()
  await withOpened(postgresStore({ connectionString: server.connectionString, schema }), async (store) => {
    expect((await store.readOutbox('orders')).open).toBe(1)
    expect(await writers()).toEqual([
      { id: 'dead', writer: expect.not.stringMatching(`^${dead?.writer}$`) },
      { id: 'full', writer: expect.not.stringMatching(`^${full?.writer}$`) },
      delivered,
    ])
  })
})

async function withOpened(store: Store, work: (store: Store) => Promise<void>): Promise<void> {
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

function byKey<t>(items: readonly t[], keyOf: (item: t) => string | number): t[] {
  return [...items].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}
