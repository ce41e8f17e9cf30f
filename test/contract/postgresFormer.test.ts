import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reasonOf } from '../../src/lane/reasons/sentence.js'
import { postgresStore } from '../../src/store/postgres/index.js'
import { migrate, migrations } from '../../src/store/postgres/migrations.js'
import type { Lease, Store } from '../../src/types/store.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { postgresPool } from '../support/postgresPool.js'
import { change, keep, liveIn, rejection } from './postgresSamples.js'

const lane = { chainId: 5, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'a'.repeat(40)}` } as const
const other = { ...lane, genesisHash: `0x${'2'.repeat(64)}` } as const
const HASH = `0x${'b'.repeat(64)}` as const

/** The format from before transactions had an order and a reason. */
const FORMER = `{"v":1,"transaction":{"id":"former","lane":{"chainId":5,"genesisHash":"${lane.genesisHash}","address":"${lane.address}"},"fingerprint":"0x${'2'.repeat(64)}","request":{"to":"0x${'c'.repeat(40)}"},"sequence":1,"priority":0,"onExpiry":"leave","stage":"signed","nonce":7,"hash":"${HASH}","createdAtMs":1}}`

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

/** The tables of a former version: two chains with one id, and a lane whose lease owner is still at work. */
async function formerTables(schema: string, version: number): Promise<void> {
  const client = await raw.connect()
  try {
    await migrate(client, schema, migrations.slice(0, version))
  } finally {
    client.release()
  }
  await raw.query(
    `INSERT INTO ${schema}.chains (chain_id, genesis_hash) VALUES (5, '${other.genesisHash}'), (5, '${lane.genesisHash}')`,
  )
  await raw.query(
    `INSERT INTO ${schema}.lanes (chain, address, epoch, holder, expires_at, cursor, sequence, revision)
     SELECT chain, '${lane.address}', 4, 'former', now() + interval '10 s', 8, 1, 1
     FROM ${schema}.chains WHERE genesis_hash = '${lane.genesisHash}'`,
  )
  // Since version 4 each row holds the time at which it was admitted.
  const [names, values] = version < 4 ? ['', ''] : [', created_ms, arrival', ', 1, 1']
  await raw.query(
    `INSERT INTO ${schema}.transactions (chain, id, lane, sequence, revision, stage, body${names})
     SELECT chain, 'former', lane, 1, 1, 'signed', $1${values} FROM ${schema}.lanes`,
    [FORMER],
  )
  await raw.query(`INSERT INTO ${schema}.hashes SELECT chain, '${HASH}', 'former' FROM ${schema}.lanes`)
}

async function withStore(schema: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = postgresStore({ connectionString: server.connectionString, schema })
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const versionsOf = async (schema: string) =>
  (await raw.query(`SELECT version FROM ${schema}.migrations ORDER BY 1`)).rows.map(({ version }) => version)

// Each version before the present one.
describe.each(migrations.slice(0, -1).map(({ version }) => version))(
  'the tables of version %i',
  (version) => {
    const schema = `former_${version}`

    it('are migrated when they are opened, and lose no data', async () => {
      await formerTables(schema, version)
      expect(await versionsOf(schema)).toEqual(migrations.slice(0, version).map((step) => step.version))
      await withStore(schema, async (store) => {
        const found = await store.find(lane, { hash: HASH })
        expect(found).toMatchObject({ id: 'former', stage: 'signed', nonce: 7 })
        expect(found?.waiting).toBeUndefined()
        expect(found?.order).toBeUndefined()
        // Admitted at 1, as its body says.
        expect((await store.list([lane], { limit: 9, createdBeforeMs: 2 })).items).toEqual([found])
        expect(await store.list([lane], { limit: 9, createdAfterMs: 2 })).toEqual({ items: [] })
        expect(await store.find(other, { id: 'former' })).toBeUndefined()
        expect(await versionsOf(schema)).toEqual(migrations.map((step) => step.version))
      })
    })

    it('keep the names of their chains, in their stored order', async () => {
      await withStore(schema, async (store) => {
        const third = { chainId: 5, genesisHash: `0x${'3'.repeat(64)}` } as const
        expect(await store.chains(third)).toEqual([other.genesisHash, lane.genesisHash])
        const fresh = { chainId: 6, genesisHash: third.genesisHash }
        expect(await store.chains(fresh)).toEqual([third.genesisHash])
      })
    })

    it('leave the lane to its lease owner until the lease expires, and accept later writes', async () => {
      await withStore(schema, async (store) => {
        expect(await store.acquire(lane, 'next', 10_000)).toBeUndefined()
        const [renewed] = await store.renew('former', 10_000)
        expect(renewed).toEqual({ lane, epoch: 4, holder: 'former' })
        await store.release(renewed as Lease)
        const lease = (await store.acquire(lane, 'next', 10_000)) as Lease
        expect(lease.epoch).toBe(5)
        expect(await rejection(store.load(renewed as Lease))).toMatchObject({ code: 'LEASE_LOST' })
        const { transactions, cursor } = await store.load(lease)
        expect(cursor).toBe(8)
        const [former] = transactions
        const waiting = reasonOf({ for: 'endpoint', endpoint: 'n', said: 'txpool is full' }, 5)
        const kept = { ...former!, order: 'strict' as const, waiting }
        const slots = [liveIn(lane, 7, 'former', 'b')]
        await store.write(lease, change({ slots, transactions: [kept], cursor: 8 }))
        expect(await store.find(lane, { id: 'former' })).toEqual(kept)
        expect((await keep(store, lane, 'later'))[0]).toMatchObject({ id: 'later', sequence: 2 })
        expect((await store.list([lane], { limit: 9 })).items.map(({ id }) => id)).toEqual([
          'later',
          'former',
        ])
      })
    })
  },
)
