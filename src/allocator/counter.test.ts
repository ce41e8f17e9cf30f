import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { createCounter } from './counter.js'

function setUp(options: { outstandingMax?: number } = {}) {
  const clock = createVirtualClock()
  const chain = { count: 5n, reads: 0, fails: false }
  const counter = createCounter({
    async read() {
      chain.reads++
      const { count, fails } = chain
      await new Promise<void>((resolve) => clock.setTimer(resolve, 10))
      if (fails) throw new Error('no answer')
      return count
    },
    clock,
    ttlMs: 1_000,
    outstandingMax: options.outstandingMax ?? 100,
  })
  /** Lets virtual time pass until the promise is settled. */
  async function settled<T>(promise: Promise<T>): Promise<T> {
    const done = { is: false }
    promise.then(
      () => {
        done.is = true
      },
      () => {
        done.is = true
      },
    )
    await clock.runUntil(() => done.is, 60_000)
    return promise
  }
  const reserve = (amount = 1) => settled(counter.reserve(amount))
  return { clock, chain, counter, settled, reserve }
}

test('counts are handed out consecutively, from one reading however many ask at once', async () => {
  const { chain, counter, settled } = setUp()
  const all = await settled(Promise.all([counter.reserve(1), counter.reserve(3), counter.reserve(1)]))
  expect(all.flat()).toEqual([5n, 6n, 7n, 8n, 9n])
  expect(chain.reads).toBe(1)
})

test('a failed reading is not kept', async () => {
  const { chain, reserve } = setUp()
  chain.fails = true
  await expect(reserve()).rejects.toThrow('no answer')
  chain.fails = false
  expect(await reserve()).toEqual([5n])
})

test('what was released is handed out again, lowest first', async () => {
  const { counter, reserve } = setUp()
  await reserve(4)
  counter.release(7n)
  counter.release(5n)
  counter.release(5n)
  expect(counter.snapshot).toEqual({ floor: 5n, cursor: 9n, holes: [5n, 7n], inFlight: 2 })
  expect(await reserve(3)).toEqual([5n, 7n, 9n])
})

test('what was released at the top is new again', async () => {
  const { counter, reserve } = setUp()
  await reserve(3)
  counter.release(6n)
  counter.release(7n)
  expect(counter.snapshot).toMatchObject({ cursor: 6n, holes: [] })
})

test('resync drops what the counter has passed, and nothing else frees what was committed', async () => {
  const { chain, clock, counter, reserve, settled } = setUp()
  await reserve(4)
  counter.commit(5n)
  counter.release(6n)
  chain.count = 7n
  await clock.advance(10_000)
  expect(counter.snapshot).toMatchObject({ holes: [6n], inFlight: 3 })
  await settled(counter.resync())
  expect(counter.snapshot).toEqual({ floor: 7n, cursor: 9n, holes: [], inFlight: 2 })
  chain.count = 20n
  await settled(counter.resync())
  expect(await reserve()).toEqual([20n])
})

test('a counter that comes down again hands nothing out twice', async () => {
  const { chain, counter, reserve, settled } = setUp()
  await reserve(2)
  chain.count = 3n
  await settled(counter.resync())
  expect(await reserve()).toEqual([7n])
})

test('a count that stays silent is told, again and again, and stays taken', async () => {
  const { clock, counter, reserve } = setUp()
  const told: bigint[] = []
  counter.onGap((count) => told.push(count))
  await reserve(2)
  await clock.advance(500)
  counter.commit(5n)
  counter.renew(6n)
  await clock.advance(999)
  expect(told).toEqual([])
  await clock.advance(1)
  expect(told).toEqual([6n])
  await clock.advance(1_000)
  expect(told).toEqual([6n, 6n])
  expect(await reserve()).toEqual([7n])
})

test('no more than the limit are out at once, and the counter is asked before one is refused', async () => {
  const { chain, reserve } = setUp({ outstandingMax: 2 })
  await reserve(2)
  await expect(reserve()).rejects.toMatchObject({ code: 'QUEUE_FULL', fate: 'notExecuted' })
  chain.count = 6n
  expect(await reserve()).toEqual([7n])
})

test('a counter that was stopped leaves no timer', async () => {
  const { clock, counter, reserve } = setUp()
  await reserve(2)
  counter.stop()
  expect(clock.pendingTimers).toBe(0)
})
