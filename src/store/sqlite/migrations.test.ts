import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { encodeBody } from '../codec.js'
import { liveIn, richSlots, transactionIn } from '../contract/samples.js'
import { sqliteStore } from './index.js'
import { loadDriver } from './open.js'
import { APPLICATION_ID, MIGRATIONS } from './schema.js'
import { SQL } from './statements.js'

const LANE = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'a'.repeat(40)}` } as const
const PUT_SLOT = `INSERT INTO slot (lane, nonce, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body`
const former = MIGRATIONS.map((_, index) => index).slice(1)

/** A file as the version with this many steps made it, with one lane that has all kinds of slots. */
async function formerFile(version: number) {
  const Driver = await loadDriver()
  const path = join(mkdtempSync(join(tmpdir(), 'txlane-')), 'lane.db')
  const database = new Driver(path)
  database.exec('PRAGMA journal_mode = WAL')
  for (const step of MIGRATIONS.slice(0, version)) database.exec(step)
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`)
  database.prepare('INSERT INTO chain (key, chain_id, genesis) VALUES (1, 1, ?)').run(LANE.genesisHash)
  database
    .prepare('INSERT INTO lane (key, chain, address, epoch, cursor, sequence) VALUES (1, 1, ?, 4, 90, 3)')
    .run(LANE.address)
  const put = database.prepare(PUT_SLOT)
  const slots = richSlots(LANE)
  // Inserted out of the order of nonces.
  for (const slot of slots.toReversed()) put.run(1, slot.nonce, encodeBody(slot))
  const transaction = transactionIn(LANE, 'kept', { sequence: 3 })
  // Since version 4 each row has its creation time.
  const [names, values] =
    version < 4 ? ['', ''] : [', created_ms, arrival', `, ${transaction.createdAtMs}, 3`]
  const add = database.prepare(
    `INSERT INTO tx (chain, id, lane, sequence, revision, stage, ended_ms, body${names}) VALUES (1, ?, 1, 3, 1, ?, NULL, ?${values})`,
  )
  add.run('kept', transaction.stage, encodeBody(transaction))
  return { path, database, put, add, slots, transaction }
}

async function loaded(path: string) {
  const store = sqliteStore({ path })
  const lease = await store.acquire(LANE, 'holder', 10_000)
  if (lease === undefined) throw new Error('the lane is free')
  const state = await store.load(lease)
  return { store, lease, state }
}

test.each(former)('a file of schema %d is migrated with all its content', async (version) => {
  const { path, database, slots, transaction } = await formerFile(version)
  database.close()
  const { store, lease, state } = await loaded(path)
  expect(lease.epoch).toBe(5)
  expect(state.slots).toEqual(slots)
  expect(state.cursor).toBe(90)
  expect(state.transactions).toEqual([transaction])
  const { createdAtMs } = transaction
  for (const times of [{ createdAfterMs: createdAtMs }, { createdBeforeMs: createdAtMs + 1 }])
    expect((await store.list([LANE], { limit: 9, ...times })).items).toEqual([transaction])
  expect(await store.list([LANE], { limit: 9, createdAfterMs: createdAtMs + 1 })).toEqual({ items: [] })
  const changed = liveIn(LANE, slots[0]?.nonce ?? 0, 'kept', 'new')
  await store.write(lease, { slots: [changed], transactions: [], cursor: 91 })
  expect((await store.load(lease)).slots).toEqual([changed, ...slots.slice(1)])
  await store.close()
})

test.each(former)(
  'a process of schema %d that has the file open can still use its prepared statements',
  async (version) => {
    const { path, database, put, add, slots, transaction } = await formerFile(version)
    const { store, lease } = await loaded(path)
    const [first] = slots
    if (first === undefined) throw new Error('there are slots')
    const changed = liveIn(LANE, first.nonce, 'kept', 'late')
    put.run(1, first.nonce, encodeBody(changed))
    const later = transactionIn(LANE, 'later', { sequence: 4 })
    add.run('later', later.stage, encodeBody(later))
    expect((await store.list([LANE], { limit: 9 })).items).toEqual([later, transaction])
    expect((await store.load(lease)).slots).toEqual([changed, ...slots.slice(1)])
    database.close()
    await store.close()
  },
)

test.each([SQL.list, SQL.listGroup])(
  'a page of a list is read from its index, without a sort',
  async (statement) => {
    const { database } = await formerFile(MIGRATIONS.length)
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${statement}`)
    const steps = plan.all(1, 0, 0, '', 0, null, ...(statement === SQL.list ? [] : ['g']), 10) as {
      detail: string
    }[]
    const index = statement === SQL.list ? 'tx_list' : 'tx_group'
    expect(steps.map(({ detail }) => detail)).toEqual([expect.stringContaining(`USING INDEX ${index} (`)])
    expect(steps[0]?.detail).toContain('(created_ms,arrival,id)<')
    database.close()
  },
)

test.each([SQL.deliveriesIn, SQL.countDeliveries])(
  'waiting deliveries are read from their index',
  async (statement) => {
    const { database } = await formerFile(MIGRATIONS.length)
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${statement}`)
    const steps = plan.all(1, 'open', ...(statement === SQL.deliveriesIn ? [10] : [])) as { detail: string }[]
    expect(steps.map(({ detail }) => detail)).toEqual([expect.stringContaining('INDEX delivery_waits (')])
    database.close()
  },
)

test('a slot with a contract call and a bump fits in the page of its row', async () => {
  const { database, put } = await formerFile(MIGRATIONS.length)
  const pages = () => (database.prepare('PRAGMA page_count').raw().get() as [number])[0]
  const before = pages()
  const body = encodeBody(liveIn(LANE, 1, 'kept', 'one', 'two'))
  expect(body.length).toBeGreaterThan(1_002)
  for (let nonce = 1_000; nonce < 2_000; nonce++) put.run(1, nonce, body)
  const rowsAPage = Math.floor(4_000 / body.length)
  expect(pages() - before).toBeLessThan(1.2 * (1_000 / rowsAPage))
  database.close()
})
