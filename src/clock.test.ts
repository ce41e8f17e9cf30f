import { expect, test } from 'vitest'
import { systemClock } from './clock.js'

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

function busyFor(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; ) {}
}
