import { expect, test } from 'vitest'
import {
  nameOf,
  onSend,
  openLane,
  refuses,
  type SimLane,
  transfer,
} from '../../api/sender/simLane.fixture.js'

const BUSY = refuses('internal error')

/** The times at which each marker was sent, in milliseconds. */
function handed(lane: SimLane, isRefused: (marker: number | undefined) => boolean) {
  const times = new Map<number, number[]>()
  lane.script = onSend((tx) => {
    const marker = Number(nameOf(tx))
    times.set(marker, [...(times.get(marker) ?? []), lane.clock.now()])
    return isRefused(marker) ? BUSY : undefined
  })
  return times
}

test('offers bytes to a failing endpoint with doubling pauses, and sends everything in order once it recovers', async () => {
  await using lane = await openLane({ chain: { blockTimeMs: 3_600_000 } })
  let isBusy = true
  const times = handed(lane, () => isBusy)
  const sent = [1, 2, 3].map((marker) => lane.sender.send(transfer(marker)))
  await lane.clock.advance(40_000)
  expect(times.get(1)?.length).toBeLessThanOrEqual(12)
  isBusy = false
  await lane.settle(Promise.all(sent), 61_000)
  const { length } = lane.sent
  await lane.settle(lane.sender.send(transfer(4)))
  expect(lane.sent.slice(length - 3).map(nameOf)).toEqual([1, 2, 3, 4])
})

test('holds back higher nonces while the endpoint refuses a lower one, and sends them as soon as it accepts', async () => {
  await using lane = await openLane({ chain: { blockTimeMs: 3_600_000 } })
  let isBusy = true
  const times = handed(lane, (marker) => marker === 1 && isBusy)
  const first = lane.sender.send(transfer(1))
  await lane.clock.advance(5_000)
  const others = [2, 3, 4].map((marker) => lane.sender.send(transfer(marker)))
  await lane.clock.advance(5_000)
  expect([...times.keys()]).toEqual([1])
  isBusy = false
  await lane.settle(Promise.all([first, ...others]), 61_000)
  expect([...times.keys()]).toEqual([1, 2, 3, 4])
  for (const marker of [2, 3, 4]) expect(times.get(marker)).toHaveLength(1)
})

test('does not re-send in every block of a chain with several blocks a second', async () => {
  await using lane = await openLane({ chain: { blockTimeMs: 200 } })
  const times = handed(lane, () => true)
  const refused = lane.rejection(lane.sender.send(transfer(1)))
  await lane.clock.advance(30_000)
  const count = times.get(1)?.length ?? 0
  // 150 blocks.
  expect(count).toBeGreaterThanOrEqual(25)
  expect(count).toBeLessThanOrEqual(40)
  await lane.sender.close()
  expect(await refused).toMatchObject({ code: 'CLOSED' })
})

test('re-sends in every block of a slower chain, and lands in the block after the endpoint recovers', async () => {
  await using lane = await openLane({ chain: { blockTimeMs: 2_000 } })
  let isBusy = true
  const times = handed(lane, () => isBusy)
  const sent = lane.sender.send(transfer(1))
  await lane.blocks(10)
  expect(times.get(1)?.length).toBeGreaterThanOrEqual(10)
  isBusy = false
  await lane.blocks(2)
  expect(lane.executed()).toEqual([1])
  await lane.settle(sent)
})
