import { expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { Pace } from './follower.js'
import { createLoop, type Loop } from './loop.js'

const INTERVAL_MS = 200
const REQUEST_MS = 10

function setUp() {
  const clock = createVirtualClock()
  const began: number[] = []
  const loop: Loop = createLoop({
    clock,
    async tick() {
      began.push(clock.now())
      await new Promise<void>((resolve) => clock.setTimer(resolve, REQUEST_MS))
      loop.brought(false)
    },
    paces: () => [],
    next: (paces) => (paces.size > 0 ? (began.at(-1) ?? 0) + INTERVAL_MS : undefined),
    broken(error) {
      throw error
    },
  })
  return { clock, began, loop }
}

test.each<[string, (loop: Loop) => unknown]>([
  ['wake', (loop) => loop.wake()],
  ['nextTick', (loop) => loop.nextTick()],
  ['onHead', (loop) => loop.onHead(() => {})],
  ['plan', (loop) => loop.plan()],
])('%s, however often it is called, brings no tick below the interval', async (_, call) => {
  const { clock, began, loop } = setUp()
  const startedMs = clock.now()
  while (clock.now() - startedMs < 10_000) {
    call(loop)
    await clock.advance(3)
  }
  expect(began.length).toBeLessThanOrEqual(10_000 / INTERVAL_MS + 1)
  loop.stop()
})

test('who asks for the next tick in the turn of each answer makes it tick once an interval', async () => {
  const { clock, began, loop } = setUp()
  let stopped = false
  const again = (): void => {
    if (!stopped) void loop.nextTick().then(again)
  }
  again()
  await clock.advance(10_000)
  stopped = true
  loop.stop()
  expect(began.length).toBeGreaterThanOrEqual(10_000 / INTERVAL_MS - 1)
  expect(began.length).toBeLessThanOrEqual(10_000 / INTERVAL_MS + 1)
})

test('a new send has a tick at once, also where one is planned or under way', async () => {
  const { clock, began, loop } = setUp()
  loop.wake()
  await clock.advance(REQUEST_MS / 2)
  loop.lookNow()
  await clock.advance(REQUEST_MS)
  expect(began).toHaveLength(2)
  await clock.advance(REQUEST_MS)
  loop.lookNow()
  await clock.advance(1)
  expect(began).toHaveLength(3)
  loop.stop()
})

test('a tick that is asked for once is the only one, an interval after the last', async () => {
  const { clock, began, loop } = setUp()
  loop.wake()
  await clock.advance(INTERVAL_MS / 2)
  loop.wake()
  await clock.advance(10_000)
  expect(began.map((atMs) => atMs - began[0]!)).toEqual([0, INTERVAL_MS])
  loop.stop()
})

test('a tick that a faster pace had planned waits where nobody wants that pace any more', async () => {
  const clock = createVirtualClock()
  const startedMs = clock.now()
  const began: number[] = []
  let pace: Pace = 'cadence'
  const loop = createLoop({
    clock,
    tick: async () => void began.push(clock.now() - startedMs),
    paces: () => [pace],
    next: (paces) => startedMs + (began.at(-1) ?? 0) + INTERVAL_MS * (paces.has('cadence') ? 1 : 10),
    broken(error) {
      throw error
    },
  })
  loop.plan()
  pace = 'block'
  await clock.advance(10 * INTERVAL_MS - 1)
  expect(began).toEqual([])
  await clock.advance(1)
  expect(began).toEqual([10 * INTERVAL_MS])
  loop.stop()
})

test('the time of the next tick is worked out in the next turn, once for all who ask in this one', async () => {
  const clock = createVirtualClock()
  let worked = 0
  const loop = createLoop({
    clock,
    tick: async () => {},
    paces: () => [],
    next() {
      worked++
      return clock.now() + INTERVAL_MS
    },
    broken(error) {
      throw error
    },
  })
  loop.plan()
  loop.wake()
  void loop.nextTick()
  loop.onHead(() => {})
  expect(worked).toBe(0)
  await clock.advance(1)
  expect(worked).toBe(1)
  loop.plan()
  loop.stop()
  expect(clock.pendingTimers).toBe(0)
})
