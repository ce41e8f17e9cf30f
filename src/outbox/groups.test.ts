import { expect, test } from 'vitest'
import { transactionIn } from '../store/contract/samples.js'
import type { LaneKey, Store } from '../types/store.js'
import { blockOf, LANE, OTHER_LANE, openOutboxes } from './outbox.fixture.js'
import type { Delivery } from './types.js'

/** So many transactions of a group that are sealed, at once. */
async function sealMany(store: Store, lane: LaneKey, group: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `${group}${index}`)
  const kept = await store.enqueue(ids.map((id) => ({ ...transactionIn(lane, id), group })))
  const lease = await store.acquire(lane, 'lane', 10 ** 9)
  if (lease === undefined) throw new Error('the lane is free')
  const transactions = kept.map(({ transaction }) => {
    return { ...transaction, stage: 'sealed', block: blockOf('1') } as const
  })
  await store.write(lease, { slots: [], transactions, cursor: 0 })
}

const silence = () => new Promise<void>(() => {})
const countOf = (calls: readonly string[], group: string) =>
  new Set(calls.filter((call) => call.startsWith(group))).size

test('a receiver that never answers holds up its own group: of another one all are told meanwhile', async () => {
  const { clock, store, started } = openOutboxes()
  const onStage = ({ tx }: Delivery) => (tx.group === 'mallory' ? silence() : undefined)
  const { calls } = await started({ onStage })
  await sealMany(store, LANE, 'mallory', 1_000)
  await clock.advance(5_000)
  await sealMany(store, OTHER_LANE, 'alice', 500)
  await clock.advance(5_000)
  expect(countOf(calls, 'alice')).toBe(500)
  expect(countOf(calls, 'mallory')).toBe(2)
})

test('eight groups that never answer have half of the places once that is known', async () => {
  const { clock, store, started } = openOutboxes()
  const onStage = ({ tx }: Delivery) => (tx.group === 'alice' ? undefined : silence())
  const { calls } = await started({ onStage })
  const lane = (index: number) => ({ ...LANE, address: `0x${String(index).repeat(40)}` }) as const
  for (let index = 1; index <= 8; index++) await sealMany(store, lane(index), `m${index}-`, 50)
  // Two calls in each place at most, by the time that each of them has failed once.
  await clock.advance(70_000)
  await sealMany(store, OTHER_LANE, 'alice', 200)
  await clock.advance(5_000)
  expect(countOf(calls, 'alice')).toBe(200)
})

test('a group whose deliveries fail takes no room of the others: what is more is given up, and shown', async () => {
  const { clock, store, started } = openOutboxes()
  let isDown = true
  const onStage = ({ tx }: Delivery) => {
    if (tx.group === 'mallory' && isDown) throw new Error('down')
  }
  const { calls, outbox, lines } = await started({ onStage, retryMinMs: 60_000, concurrency: 100 })
  await sealMany(store, LANE, 'mallory', 12_000)
  await clock.advance(60_000)
  await sealMany(store, OTHER_LANE, 'alice', 1_000)
  await clock.advance(60_000)
  expect(countOf(calls, 'alice')).toBe(1_000)
  const { waiting, stopped, behind } = await outbox.snapshot()
  // Half of the room, and a page.
  expect(waiting).toBeLessThanOrEqual(5_200)
  expect([waiting + stopped, behind]).toEqual([12_000, 0])
  expect(lines[0]).toContain('The deliveries of its group fail, and no room is left for more of them.')
  isDown = false
  for (let tries = 0; (await outbox.snapshot()).stopped > 0 && tries < 5; tries++) {
    await outbox.retry()
    await clock.advance(120_000)
  }
  expect(countOf(calls, 'mallory')).toBe(12_000)
  expect(await outbox.snapshot()).toMatchObject({ waiting: 0, stopped: 0 })
})
