import { expect, test } from 'vitest'
import { nameOf, onSend, openLane, refuses, type SimLane, transfer } from '../simLane.fixture.js'

const BUSY = refuses('internal error')

/** When each of these was handed over, in milliseconds from the first. */
function handed(lane: SimLane, isRefused: (marker: number | undefined) => boolean) {
  const times = new Map<number, number[]>()
  lane.script = onSend((tx) => {
    const marker = Number(nameOf(tx))
    times.set(marker, [...(times.get(marker) ?? []), lane.clock.now()])
    return isRefused(marker) ? BUSY : undefined
  })
  return times
}

test('an endpoint that takes one transaction again is handed what it refused before, at once', async () => {
  await using lane = await openLane({ chain: { blockTimeMs: 3_600_000 } })
  let isBusy = true
  const times = handed(lane, () => isBusy)
  for (const marker of [1, 2, 3]) void lane.sender.send(transfer(marker))
  // After three tries the pauses are longer than seconds.
  await lane.clock.advance(40_000)
  isBusy = false
  const freedMs = lane.clock.now()
  await lane.settle(lane.sender.send(transfer(4)))
  await lane.clock.advance(1_000)
  for (const marker of [1, 2, 3]) expect((times.get(marker)?.at(-1) ?? 0) - freedMs).toBeGreaterThan(0)
})

test('a transaction that it still refuses then keeps its pauses, however much else it takes', async () => {
  await using lane = await openLane({ chain: { blockTimeMs: 3_600_000 } })
  const times = handed(lane, (marker) => marker === 1)
  const refused = lane.rejection(lane.sender.send(transfer(1)))
  await lane.clock.advance(10_000)
  const before = times.get(1)?.length ?? 0
  for (let marker = 2; marker < 22; marker++) {
    await lane.settle(lane.sender.send(transfer(marker)))
    await lane.clock.advance(200)
  }
  expect((times.get(1)?.length ?? 0) - before).toBeLessThanOrEqual(2)
  await lane.sender.close()
  expect(await refused).toMatchObject({ code: 'CLOSED' })
})

test('on a chain of several blocks a second it is not handed over in each of them', async () => {
  await using lane = await openLane({ chain: { blockTimeMs: 200 } })
  const times = handed(lane, () => true)
  const refused = lane.rejection(lane.sender.send(transfer(1)))
  await lane.clock.advance(30_000)
  const count = times.get(1)?.length ?? 0
  // 150 blocks.
  expect(count).toBeGreaterThanOrEqual(25)
  expect(count).toBeLessThanOrEqual(35)
  await lane.sender.close()
  expect(await refused).toMatchObject({ code: 'CLOSED' })
})

test('on a slower one it is, and lands in the block after the endpoint takes it again', async () => {
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
