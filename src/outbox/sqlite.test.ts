import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { transactionIn } from '../store/contract/samples.js'
import { sqliteStore } from '../store/sqlite/index.js'
import type { Lease, Store } from '../types/store.js'
import { createOutbox } from './createOutbox.js'
import { blockOf, LANE } from './outbox.fixture.js'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'txlane-outbox-'))
  folders.push(folder)
  return join(folder, 'lanes.db')
}

const CHAIN = { chainId: LANE.chainId, genesisHash: LANE.genesisHash }
const SEALED = { stage: 'sealed', block: blockOf('1') } as const

async function take(store: Store): Promise<Lease> {
  const lease = await store.acquire(LANE, 'holder', 60_000)
  if (lease === undefined) throw new Error('the lane is free')
  return lease
}

test('after a restart accepted deliveries are not repeated, and the others are made', async () => {
  const path = newPath()
  const [ours, lanes] = [sqliteStore({ path }), sqliteStore({ path })]
  const calls: string[] = []
  const first = createOutbox({
    store: ours,
    name: 'orders',
    logger: false,
    retryMinMs: 60_000,
    onStage({ tx: { id }, stage }) {
      calls.push(`${id}:${stage}`)
      if (id === 'b') throw new Error('no')
    },
  })
  await first.ready()
  const lease = await take(lanes)
  const kept = await lanes.enqueue(['a', 'b'].map((id) => transactionIn(LANE, id)))
  const transactions = kept.map(({ transaction }) => ({ ...transaction, ...SEALED }))
  await lanes.write(lease, { slots: [], transactions, cursor: 0 })
  await expect.poll(() => calls.length, { timeout: 20_000 }).toBe(2)
  await expect
    .poll(async () => (await lanes.deliveries('orders', { chain: CHAIN, ids: ['a'] }))[0]?.state)
    .toBe('delivered')
  await first.close()
  await ours.close()

  const again = sqliteStore({ path })
  const second = createOutbox({
    store: again,
    name: 'orders',
    onStage: ({ tx: { id }, attempt }) => void calls.push(`${id}, time ${attempt}`),
  })
  await expect.poll(() => calls.length, { timeout: 20_000 }).toBe(3)
  expect(calls.toSorted()).toEqual(['a:sealed', 'b, time 2', 'b:sealed'])
  await second.close()
  expect(await again.readOutbox('orders')).toMatchObject({ open: 0, dead: 0, behind: [], isHeld: false })
  await again.close()
  await lanes.close()
})

test('a delivery is deleted with its transaction', async () => {
  const store = sqliteStore({ path: newPath(), retentionMs: 1, synchronous: 'NORMAL' })
  const lease = await take(store)
  const [kept] = await store.enqueue([transactionIn(LANE, 'a')])
  const outbox = await store.takeOutbox('orders', 'me', 60_000)
  if (outbox === undefined || kept === undefined) throw new Error('a free outbox cannot be taken')
  const open = { chain: CHAIN, id: 'a', state: 'open', count: 0, tries: 0 } as const
  await store.writeOutbox(outbox, { read: [], deliveries: [open] })
  const write = (transactions: (typeof kept.transaction)[]) =>
    store.write(lease, { slots: [], transactions, cursor: 0 })
  await write([{ ...kept.transaction, stage: 'finalized' }])
  const busy = transactionIn(LANE, 'busy', { sequence: 2 })
  await expect
    .poll(async () => {
      for (let round = 0; round < 70; round++) await write([busy])
      return store.find(LANE, { id: 'a' })
    })
    .toBeUndefined()
  expect((await store.readOutbox('orders')).open).toBe(0)
  // A new transaction with the same id must not inherit the delivery.
  await store.enqueue([transactionIn(LANE, 'a')])
  expect(await store.deliveries('orders', { chain: CHAIN, ids: ['a'] })).toEqual([])
  await store.close()
})
