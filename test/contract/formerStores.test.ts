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

// The files in `former/` were written by the version of the store's format 6, through its own public
// functions: the samples of the contract suite, two commands, a report and an outbox with three deliveries.
// They are never written again.
const FORMAT = 6
const read = (name: string) => readFileSync(new URL(`./former/${name}`, import.meta.url), 'utf8')

const lane = { chainId: 5, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'a'.repeat(40)}` } as const
const chain = { chainId: lane.chainId, genesisHash: lane.genesisHash }

async function sqliteFile(): Promise<string> {
  const path = join(mkdtempSync(join(tmpdir(), 'txlane-')), 'lane.db')
  const database = new (await loadDriver())(path)
  database.exec(read(`sqlite-${FORMAT}.sql`))
  database.close()
  return path
}

async function postgresTables(raw: pg.Pool, schema: string): Promise<void> {
  const client = await raw.connect()
  try {
    await migrate(client, schema, migrations.slice(0, FORMAT))
    for (const [table, rows] of Object.entries(JSON.parse(read(`postgres-${FORMAT}.json`))))
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

async function openPostgres(): Promise<Store> {
  const schema = `former_${++schemas}`
  await postgresTables(raw, schema)
  return postgresStore({ connectionString: server.connectionString, schema })
}

describe.each<[string, () => Promise<Store>]>([
  ['a SQLite file', async () => sqliteStore({ path: await sqliteFile() })],
  ['PostgreSQL tables', openPostgres],
])('%s of the former version', (_, open) => {
  async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
    const store = await open()
    try {
      await work(store)
    } finally {
      await store.close()
    }
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
          told: { stage: 'sealed', life: 1, block: hashIn(lane, 'block') },
          next: { stage: 'reorged', life: 1 },
          count: 3,
          tries: 2,
          failure: 'HTTP 500: "no"\nnew line',
          sinceMs: 1_700_000_000_000,
        },
        { chain, id: 'told', state: 'told', told: { stage: 'failed', life: 0 }, count: 1, tries: 0 },
      ])
    }))
})

function byKey<t>(items: readonly t[], keyOf: (item: t) => string | number): t[] {
  return [...items].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}
