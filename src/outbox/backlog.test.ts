import { expect, test } from 'vitest'
import { transactionIn } from '../store/contract/samples.js'
import type { Store } from '../types/store.js'
import { blockOf, LANE, openOutboxes } from './outbox.fixture.js'

/** So many transactions that are sealed, at once. */
async function sealMany(store: Store, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `t${index}`)
  const kept = await store.enqueue(ids.map((id) => transactionIn(LANE, id)))
  const lease = await store.acquire(LANE, 'lane', 10 ** 9)
  if (lease === undefined) throw new Error('the lane is free')
  const transactions = kept.map(({ transaction }) => {
    return { ...transaction, stage: 'sealed', block: blockOf('1') } as const
  })
  await store.write(lease, { slots: [], transactions, cursor: 0 })
}

test('what is more than a page is told once each', async () => {
  const { clock, store, started } = openOutboxes()
  const { calls, outbox } = await started()
  await sealMany(store, 950)
  await clock.advance(3_000)
  expect(calls).toHaveLength(950)
  expect(new Set(calls).size).toBe(950)
  expect(await outbox.snapshot()).toMatchObject({ waiting: 0, behind: 0 })
})

test('P9: no more than 10,000 deliveries and a page wait; the others wait in their lane, and are told', async () => {
  const { clock, store, started } = openOutboxes()
  let isDown = true
  const { calls, outbox } = await started({
    concurrency: 100,
    retryMinMs: 60_000,
    onStage: () => (isDown ? Promise.reject(new Error('down')) : undefined),
  })
  await sealMany(store, 10_700)
  await clock.advance(30_000)
  const { waiting, behind, failing } = await outbox.snapshot()
  expect(waiting).toBeGreaterThanOrEqual(10_000)
  expect(waiting).toBeLessThanOrEqual(10_200)
  expect([behind, failing.length]).toEqual([1, 100])
  isDown = false
  calls.length = 0
  await outbox.retry()
  await clock.advance(30_000)
  expect(new Set(calls).size).toBe(10_700)
  expect(await outbox.snapshot()).toMatchObject({ waiting: 0, behind: 0, failing: [] })
})
