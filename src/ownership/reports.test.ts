import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { createShared, type Environment } from '../chain/environment.js'
import { memoryStore } from '../store/memory.js'
import type { LaneReport } from '../types/laneReports.js'
import type { LaneKey, Lease, Store } from '../types/store.js'
import { reportsOf } from './reports.js'

const laneOn = (chainId: number, genesis = '1'): LaneKey => ({
  chainId,
  genesisHash: `0x${genesis.repeat(64)}`,
  address: `0x${'a'.repeat(40)}`,
})
const free: LaneReport = { holds: [], room: 5, load: 0, owedWei: 1n }
const starved: LaneReport = { holds: ['starved'], room: 0, load: 3, owedWei: undefined }

/** Two processes on one store, which answers about one chain at a time. */
function twoProcesses(over: Partial<Store> = {}) {
  const clock = createVirtualClock()
  const inner = memoryStore({ now: () => 0 })
  const asked: (readonly LaneKey[])[] = []
  const store: Store = {
    ...inner,
    durable: true,
    async reports(lanes) {
      asked.push(lanes)
      const [first] = lanes
      for (const { chainId, genesisHash } of lanes)
        expect([chainId, genesisHash]).toEqual([first?.chainId, first?.genesisHash])
      return inner.reports(lanes)
    },
    ...over,
  }
  const environment = () => ({ clock, shared: createShared() }) as unknown as Environment
  const take = async (lane: LaneKey) => (await store.acquire(lane, 'holder', 1_000)) as Lease
  return {
    clock,
    store,
    asked,
    take,
    here: reportsOf(environment(), store),
    there: reportsOf(environment(), store),
  }
}

test('lanes of one address on several chains are distinguished, each with its own read', async () => {
  const { clock, asked, take, here, there } = twoProcesses()
  const lanes = [laneOn(1), laneOn(8453), laneOn(31_337), laneOn(31_337, '2')]
  const stops: (() => void)[] = []
  for (const [index, lane] of lanes.entries())
    stops.push(here.publish(await take(lane), () => ({ ...free, room: index })))
  await clock.advance(1_000)
  const followed = lanes.map((lane) => there.follow(lane))
  expect(followed.map(({ isHeld }) => isHeld)).toEqual(lanes.map(() => undefined))
  await there.fresh(0)
  expect(followed.map(({ report }) => report?.room)).toEqual([0, 1, 2, 3])
  expect(asked).toHaveLength(4)
  for (const stop of stops) stop()
  expect(clock.pendingTimers).toBe(0)
})

test('a transaction given to a lane counts until a later report was read', async () => {
  const { clock, take, here, there } = twoProcesses()
  const lane = laneOn(1)
  const stop = here.publish(await take(lane), () => free)
  await clock.advance(1_000)
  const followed = there.follow(lane)
  await there.fresh(0)
  followed.give(7n)
  const reading = there.fresh(0)
  followed.give(5n)
  expect(followed.given).toEqual({ count: 2, costWei: 12n })
  await reading
  expect(followed.given).toEqual({ count: 1, costWei: 5n })
  await there.fresh(0)
  expect(followed.given).toEqual({ count: 0, costWei: 0n })
  stop()
})

test('a report that was not written is repeated, and a written one is not', async () => {
  let fails = true
  const kept: LaneReport[] = []
  const { clock, take, here } = twoProcesses({
    async report(reports) {
      if (fails) throw new Error('The database is down.')
      kept.push(...reports.map(({ report }) => report))
    },
  })
  let now = free
  const stop = here.publish(await take(laneOn(1)), () => now)
  await clock.advance(1_000)
  fails = false
  await clock.advance(2_000)
  expect(kept).toEqual([free])
  now = starved
  await clock.advance(2_000)
  expect(kept).toEqual([free, starved])
  stop()
})

test('the store is not read while nothing is followed, and a fresh report is not read again', async () => {
  const { clock, asked, there } = twoProcesses()
  expect(there.fresh(0)).toBeUndefined()
  const followed = there.follow(laneOn(1))
  await there.fresh(500)
  expect(followed.isHeld).toBe(false)
  expect(there.fresh(500)).toBeUndefined()
  await clock.advance(600)
  await Promise.all([there.fresh(500), there.fresh(500)])
  expect(asked).toHaveLength(2)
  followed.stop()
  expect(there.fresh(0)).toBeUndefined()
})
