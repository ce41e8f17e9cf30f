import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { memoryStore } from '../store/memory.js'
import type { LaneKey, Lease } from '../types/store.js'
import { createHeartbeat } from './heartbeat.js'

const TTL_MS = 9_000
const ANSWER_MS = 100
const QUIET = { lost() {} }
const lane = (last: string): LaneKey => ({
  chainId: 1,
  genesisHash: `0x${'1'.repeat(64)}` as Hash,
  address: `0x${'0'.repeat(39)}${last}`,
})

function setUp() {
  const clock = createVirtualClock()
  const store = memoryStore({ now: clock.now })
  const calls = { renew: 0 }
  const away = { now: false }
  const counted = {
    ...store,
    async renew(...given: Parameters<typeof store.renew>) {
      calls.renew++
      await new Promise<void>((resolve) => void clock.setTimer(resolve, ANSWER_MS))
      if (away.now) throw new Error('the store is away')
      return store.renew(...given)
    },
  }
  const take = async (key: LaneKey, holder: string) => (await store.acquire(key, holder, TTL_MS)) as Lease
  return {
    clock,
    store,
    calls,
    away,
    take,
    heartbeat: createHeartbeat({ store: counted, holder: 'me', ttlMs: TTL_MS, clock }),
  }
}

test('P7: one call renews the leases of all lanes, and they end with their owner', async () => {
  const { clock, store, calls, take, heartbeat } = setUp()
  const off = await Promise.all(
    ['a', 'b'].map(async (last) => heartbeat.hold(await take(lane(last), 'me'), QUIET)),
  )
  await clock.advance(10 * (TTL_MS / 3 + ANSWER_MS))
  expect(calls.renew).toBe(10)
  expect(await store.acquire(lane('a'), 'other', TTL_MS)).toBeUndefined()
  for (const letGo of off) letGo()
  expect(clock.pendingTimers).toBe(0)
  await clock.advance(TTL_MS)
  expect(await store.acquire(lane('a'), 'other', TTL_MS)).toMatchObject({ epoch: 2 })
})

test('P7: a process that was away for longer than its lease is notified once that another one took the lane', async () => {
  const { clock, away, take, heartbeat } = setUp()
  const lost: string[] = []
  heartbeat.hold(await take(lane('a'), 'me'), { lost: () => lost.push('a') })
  heartbeat.hold(await take(lane('b'), 'me'), { lost: () => lost.push('b') })
  away.now = true
  await clock.advance(TTL_MS + 1)
  away.now = false
  await take(lane('a'), 'other')
  await clock.advance(30_000)
  expect(lost).toEqual(['a'])
})

test('P7: a lane that is released and taken again during a heartbeat causes no second heartbeat', async () => {
  const { clock, calls, take, heartbeat } = setUp()
  const lease = await take(lane('a'), 'me')
  const letGo = heartbeat.hold(lease, QUIET)
  await clock.advance(TTL_MS / 3 + ANSWER_MS / 2)
  letGo()
  const again = heartbeat.hold(lease, QUIET)
  await clock.advance(ANSWER_MS)
  const { renew } = calls
  await clock.advance(TTL_MS)
  expect(calls.renew - renew).toBeLessThanOrEqual(3)
  again()
  expect(clock.pendingTimers).toBe(0)
})

test('P7: a lease is lost although its process owns the lane again, with a later epoch', async () => {
  const { clock, store, away, take, heartbeat } = setUp()
  const lost: string[] = []
  heartbeat.hold(await take(lane('a'), 'me'), { lost: () => lost.push('a') })
  away.now = true
  await clock.advance(TTL_MS + 1)
  await store.release(await take(lane('a'), 'other'))
  expect(await take(lane('a'), 'me')).toMatchObject({ epoch: 3 })
  away.now = false
  await clock.advance(TTL_MS)
  expect(lost).toEqual(['a'])
})

test('a failed heartbeat is reported with its error, and the next answered heartbeat is reported too', async () => {
  const { clock, away, take, heartbeat } = setUp()
  const heard: unknown[] = []
  const letGo = heartbeat.hold(await take(lane('a'), 'me'), {
    lost: () => heard.push('lost'),
    renewed: () => heard.push('renewed'),
    failed: (error) => heard.push((error as Error).message),
  })
  away.now = true
  await clock.advance(TTL_MS / 3 + ANSWER_MS)
  away.now = false
  await clock.advance(TTL_MS / 3 + ANSWER_MS)
  letGo()
  await clock.advance(TTL_MS)
  expect(heard).toEqual(['the store is away', 'renewed'])
})

test.each([
  ['back', -500],
  ['forward, as after a sleep of the machine', TTL_MS + 1],
])(
  'P7: the wall clock steps %s: a lease is not certain before the next heartbeat is answered',
  async (_, ms) => {
    const { clock, take, heartbeat } = setUp()
    const lease = await take(lane('a'), 'me')
    const letGo = heartbeat.hold(lease, QUIET)
    expect(heartbeat.isFresh(lease)).toBe(true)
    clock.stepWall(ms)
    expect(heartbeat.isFresh(lease)).toBe(false)
    await clock.advance(TTL_MS / 3 + ANSWER_MS)
    expect(heartbeat.isFresh(lease)).toBe(true)
    letGo()
  },
)
