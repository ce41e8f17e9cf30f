import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { createPoller } from './poller.js'

function looksOf(options: { restMs?: number; read?: () => Promise<void> } = {}) {
  const clock = createVirtualClock(0)
  const atMs: number[] = []
  const failures: unknown[] = []
  const poller = createPoller({
    clock: () => clock,
    everyMs: () => 1_000,
    restMs: options.restMs ?? 0,
    async read() {
      atMs.push(clock.now())
      await options.read?.()
    },
    failed: (error) => failures.push(error),
  })
  return { clock, poller, atMs, failures }
}

test('a look is at once, and one more comes by itself', async () => {
  const { clock, poller, atMs } = looksOf()
  poller.pollNow()
  await clock.advance(1_500)
  expect(atMs).toEqual([0, 1_000])
  poller.stop()
})

test('a hint while it looks is looked at once more: that look may have missed it', async () => {
  const { clock, poller, atMs } = looksOf({
    read: () => new Promise((resolve) => void clock.setTimer(resolve, 5)),
  })
  poller.pollNow()
  await clock.advance(1)
  poller.pollNow()
  poller.pollNow()
  await clock.advance(100)
  expect(atMs).toEqual([0, 5])
  poller.stop()
})

test('many hints in a row cost one look in each rest, and the last of them is not missed', async () => {
  const { clock, poller, atMs } = looksOf({ restMs: 20 })
  for (let hint = 0; hint < 10; hint++) {
    poller.pollNow()
    await clock.advance(5)
  }
  await clock.advance(100)
  expect(atMs).toEqual([0, 20, 40, 60])
  poller.stop()
})

test('after a look that failed it goes on', async () => {
  let down = true
  const { clock, poller, atMs, failures } = looksOf({
    restMs: 20,
    read: async () => {
      if (down) throw new Error('down')
    },
  })
  poller.pollNow()
  await clock.advance(10)
  down = false
  poller.pollNow()
  await clock.advance(10)
  expect(atMs).toEqual([0, 10])
  expect(failures).toHaveLength(1)
  poller.stop()
})

test('after it was stopped nothing is looked at, in the middle of a rest too', async () => {
  const { clock, poller, atMs } = looksOf({ restMs: 20 })
  poller.pollNow()
  await clock.advance(5)
  poller.pollNow()
  poller.stop()
  await clock.advance(5_000)
  expect(atMs).toEqual([0])
})
