import { expect, test } from 'vitest'
import { openLane, type SimLane, swallow, transfer } from '../../api/sender/simLane.fixture.js'

/** Two transactions at one nonce: the second replaces the first, and neither has reached a pool. */
async function openReplaced(lane: SimLane, options: object = {}) {
  lane.script = swallow(1, 2)
  const first = await lane.settle(lane.sender.send(transfer(1), options))
  const second = await lane.settle(first.replace(transfer(2)))
  expect(second.nonce).toBe(first.nonce)
  return { first, second }
}

test('row 21: the expiry of a replaced transaction does not end its replacement', async () => {
  await using lane = await openLane()
  const expires = { atMs: lane.clock.wallNow() + 5_000 }
  const { second } = await openReplaced(lane, { expires, onExpiry: 'cancel' })
  await lane.clock.advance(6_000)
  lane.script = undefined
  await lane.settle(second.wait('sealed'))
  expect(lane.executed()).toEqual([2])
})

test('row 21: a cancel of a replaced transaction does not end its replacement', async () => {
  await using lane = await openLane()
  const { first, second } = await openReplaced(lane)
  const cancelled = first.cancel().catch((error: unknown) => error)
  await lane.clock.advance(2_000)
  lane.script = undefined
  await lane.settle(second.wait('sealed'))
  expect(lane.executed()).toEqual([2])
  expect(await lane.settle(cancelled)).toMatchObject({ result: 'cancelled' })
})
