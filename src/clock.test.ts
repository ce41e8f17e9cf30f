import { stat } from 'node:fs'
import { expect, test } from 'vitest'
import { systemClock } from './clock.js'

const LINKS_MAX = 100

test('a timer of 0 looks at what has arrived first, however long what it calls takes', async () => {
  let arrived = false
  stat('.', () => {
    arrived = true
  })
  // Work that is cut into such timers, each longer than the millisecond after which Node has the next one due.
  const links = await new Promise<number>((done) => {
    const link = (number: number) => {
      busyFor(3)
      if (arrived || number === LINKS_MAX) return done(number)
      systemClock.setTimer(() => link(number + 1), 0)
    }
    link(1)
  })
  expect(links).toBeLessThan(LINKS_MAX)
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
