import { expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createWallDeadlines } from './withdrawals.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function deadlines() {
  const clock = createVirtualClock()
  const passed: [name: string, afterMs: number][] = []
  const beganMs = clock.now()
  const all = createWallDeadlines<string>({
    clock,
    due: (name) => passed.push([name, clock.now() - beganMs]),
  })
  const inMs = (name: string, ms: number) => all.set(name, clock.wallNow() + ms)
  return { clock, passed, all, inMs }
}

test('each deadline is due at its time, in whichever order they were set', async () => {
  const { clock, passed, inMs } = deadlines()
  inMs('late', 5_300)
  inMs('early', 200)
  inMs('between', 2_500)
  inMs('past', -1)
  expect(passed).toEqual([])
  await clock.advance(10_000)
  expect(passed).toEqual([
    ['past', 0],
    ['early', 200],
    ['between', 2_500],
    ['late', 5_300],
  ])
  expect(clock.pendingTimers).toBe(0)
})

test('a removed deadline is never due, even if another due deadline removes it', async () => {
  const { clock, passed, all, inMs } = deadlines()
  inMs('a', 100)
  inMs('b', 100)
  inMs('c', 300)
  all.forget('a')
  await clock.advance(200)
  all.forget('c')
  expect(clock.pendingTimers).toBe(0)
  await clock.advance(200)
  expect(passed).toEqual([['b', 100]])

  const both = createWallDeadlines<string>({
    clock,
    due(name) {
      passed.push([name, 0])
      both.forget('second')
    },
  })
  for (const name of ['first', 'second']) both.set(name, clock.wallNow())
  await clock.advance(5_000)
  expect(passed.slice(1)).toEqual([['first', 0]])
})

test('a deadline is due within a second after the wall clock steps forward past it', async () => {
  const { clock, passed, inMs } = deadlines()
  inMs('a', HOUR_MS)
  await clock.advance(10_300)
  clock.stepWall(2 * HOUR_MS)
  await clock.advance(1_000)
  expect(passed).toEqual([['a', 11_000]])
})

test('after the wall clock steps back, a deadline is not due before the wall clock shows it', async () => {
  const { clock, passed, inMs } = deadlines()
  inMs('a', 60_000)
  await clock.advance(59_500)
  clock.stepWall(-HOUR_MS)
  await clock.advance(HOUR_MS)
  expect(passed).toEqual([])
  await clock.advance(1_000)
  expect(passed).toEqual([['a', HOUR_MS + 60_000]])
})

test('a deadline may be further ahead than the longest JavaScript timer', async () => {
  const { clock, passed, inMs } = deadlines()
  inMs('a', 40 * DAY_MS)
  await clock.advance(HOUR_MS)
  expect(passed).toEqual([])
  clock.stepWall(40 * DAY_MS - HOUR_MS - 5_000)
  await clock.advance(4_999)
  expect(passed).toEqual([])
  await clock.advance(1)
  expect(passed).toEqual([['a', HOUR_MS + 5_000]])
})
