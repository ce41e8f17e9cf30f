import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { createLooks } from './poller.js'

function looksOf(options: { restMs?: number; read?: () => Promise<void> } = {}) {
  const clock = createVirtualClock(0)
  const atMs: number[] = []
  const failures: unknown[] = []
  const looks = createLooks({
    clock: () => clock,
    everyMs: () => 1_000,
    restMs: options.restMs ?? 0,
    async read() {
      atMs.push(clock.now())
      await options.read?.()
    },
    failed: (error) => failures.push(error),
  })
  return { clock, looks, atMs, failures }
}

test('a look is at once, and one more comes by itself', async () => {
  const { clock, looks, atMs } = looksOf()
  looks.look()
  await clock.advance(1_500)
  expect(atMs).toEqual([0, 1_000])
  looks.stop()
})

test('a hint while it looks is looked at once more: that look may have missed it', async () => {
  const { clock, looks, atMs } = looksOf({
    read: () => new Promise((resolve) => void clock.setTimer(resolve, 5)),
  })
  looks.look()
  await clock.advance(1)
  looks.look()
  looks.look()
  await clock.advance(100)
  expect(atMs).toEqual([0, 5])
  looks.stop()
})

test('many hints in a row cost one look in each rest, and the last of them is not missed', async () => {
  const { clock, looks, atMs } = looksOf({ restMs: 20 })
  for (let hint = 0; hint < 10; hint++) {
    looks.look()
    await clock.advance(5)
  }
  await clock.advance(100)
  expect(atMs).toEqual([0, 20, 40, 60])
  looks.stop()
})

test('after a look that failed it goes on', async () => {
  let down = true
  const { clock, looks, atMs, failures } = looksOf({
    restMs: 20,
    read: async () => {
      if (down) throw new Error('down')
    },
  })
  looks.look()
  await clock.advance(10)
  down = false
  looks.look()
  await clock.advance(10)
  expect(atMs).toEqual([0, 10])
  expect(failures).toHaveLength(1)
  looks.stop()
})

test('after it was stopped nothing is looked at, in the middle of a rest too', async () => {
  const { clock, looks, atMs } = looksOf({ restMs: 20 })
  looks.look()
  await clock.advance(5)
  looks.look()
  looks.stop()
  await clock.advance(5_000)
  expect(atMs).toEqual([0])
})
