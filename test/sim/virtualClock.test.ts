import { expect, test } from 'vitest'
import { createRandom, deriveRandom } from './random.js'
import { createVirtualClock } from './virtualClock.js'

test('timers fire in order of time, and at the same time in the order of their setting', async () => {
  const clock = createVirtualClock(0)
  const fired: string[] = []
  clock.setTimer(() => fired.push('late'), 20)
  clock.setTimer(() => fired.push('first'), 10)
  clock.setTimer(() => fired.push('second'), 10)
  const cancel = clock.setTimer(() => fired.push('never'), 5)
  cancel()
  expect(clock.pendingTimers).toBe(3)
  await clock.advance(15)
  expect(fired).toEqual(['first', 'second'])
  expect(clock.now()).toBe(15)
  await clock.run()
  expect(fired).toEqual(['first', 'second', 'late'])
  expect(clock.pendingTimers).toBe(0)
})

test('every promise reaction runs before the next timer, in a chain of any length', async () => {
  const clock = createVirtualClock(0)
  const seen: string[] = []
  clock.setTimer(async () => {
    for (let turn = 0; turn < 10_000; turn++) await null
    seen.push('reactions')
    clock.setTimer(() => seen.push('nested'), 0)
  }, 1)
  clock.setTimer(() => seen.push('next timer'), 2)
  await clock.run()
  expect(seen).toEqual(['reactions', 'nested', 'next timer'])
})

test('runUntil returns whether the predicate became true in time', async () => {
  const clock = createVirtualClock(0)
  let count = 0
  const tick = () => {
    count++
    clock.setTimer(tick, 10)
  }
  clock.setTimer(tick, 10)
  expect(await clock.runUntil(() => count === 3, 1_000)).toBe(true)
  expect(clock.now()).toBe(30)
  expect(await clock.runUntil(() => count === 100, 50)).toBe(false)
})

test('timers that hold time still are reported instead of followed forever', async () => {
  const clock = createVirtualClock(0)
  const again = () => void clock.setTimer(again, 0)
  again()
  await expect(clock.run(10)).rejects.toThrow(/time stands still/)
})

test('a stream of random numbers depends only on its seed and its part', () => {
  const draw = (random: () => number) => [random(), random(), random()]
  expect(draw(createRandom(7))).toEqual(draw(createRandom(7)))
  expect(draw(createRandom(7))).not.toEqual(draw(createRandom(8)))
  expect(draw(deriveRandom(7, 'chain'))).not.toEqual(draw(deriveRandom(7, 'port')))
})
