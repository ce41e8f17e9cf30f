import { afterEach, expect, test, vi } from 'vitest'
import { backgroundClock, stoppableClock, systemClock } from './clock.js'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const LINKS_MAX = 100

test('a timer of 0 lets the loop go round first, however long the work takes that it cuts', async () => {
  let wentRound = false
  // In microtasks, longer than it takes until a timer of 0 is due, and with others set: so a lane signs a burst.
  const links = await new Promise<number>((done) => {
    const link = (number: number) => {
      if (number === 1) setImmediate(() => (wentRound = true))
      if (wentRound || number === LINKS_MAX) return done(number)
      systemClock.setTimer(() => queueMicrotask(() => link(number + 1)), 0)
      busyFor(3)
      systemClock.setTimer(() => {}, 60_000)()
    }
    systemClock.setTimer(() => queueMicrotask(() => link(1)), 1)
  })
  expect(links).toBe(2)
})

test('one that is taken back never fires', async () => {
  const fired: number[] = []
  const cancel = systemClock.setTimer(() => fired.push(1), 0)
  cancel()
  cancel()
  await new Promise<void>((done) => void systemClock.setTimer(done, 0))
  expect(fired).toEqual([])
})

const LONGEST_MS = 2 ** 31 - 1

test.each([
  ['systemClock', systemClock],
  ['backgroundClock', backgroundClock],
  ['a stoppable clock', stoppableClock(systemClock)],
])('%s: a timer may be longer than JavaScript takes, and fires once, at its time', async (_, clock) => {
  vi.useFakeTimers()
  let fired = 0
  clock.setTimer(() => fired++, 2 * LONGEST_MS + 5_000)
  const cancel = clock.setTimer(() => (fired += 100), 2 * LONGEST_MS)
  await vi.advanceTimersByTimeAsync(LONGEST_MS + 10)
  cancel()
  await vi.advanceTimersByTimeAsync(LONGEST_MS + 4_989)
  expect(fired).toBe(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(fired).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('elapsed time goes on where the wall clock is set back, and 0 is long ago', () => {
  const [before, wallBefore] = [systemClock.now(), systemClock.wallNow()]
  const wall = Date.now
  vi.spyOn(Date, 'now').mockImplementation(() => wall() - 3_600_000)
  busyFor(1)
  expect(systemClock.now()).toBeGreaterThan(before)
  expect(systemClock.now() - before).toBeLessThan(60_000)
  expect(systemClock.wallNow()).toBeLessThan(wallBefore)
  expect(before).toBeGreaterThan(24 * 3_600_000)
})

function busyFor(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; ) {}
}
