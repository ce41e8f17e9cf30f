import { expect, test } from 'vitest'
import { openLane, transfer } from './simLane.fixture.js'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test('the first bytes of a burst leave while the last of it is still being kept', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(9_999)))
  const order: string[] = []
  for (const event of ['queued', 'signed'] as const) lane.sender.on(event, () => order.push(event))
  await lane.settle(Promise.all(numbers(1_200).map((marker) => lane.sender.send(transfer(marker)))))
  expect(order.filter((event) => event === 'queued')).toHaveLength(1_200)
  expect(order.indexOf('signed')).toBeLessThan(order.lastIndexOf('queued'))
})

test('the window opens with the counts that ride along, not with the blocks', async () => {
  await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 12_000 } })
  // Whether a count shows the pool is found out with the first of them.
  await lane.settle(lane.sender.send(transfer(9_999)))
  const head = lane.chain.head.number
  await lane.settle(Promise.all(numbers(1_000).map((marker) => lane.sender.send(transfer(marker)))))
  expect(lane.chain.head.number).toBe(head)
  const { window, coveredTo } = await lane.sender.snapshot()
  expect(window).toBeGreaterThan(512)
  expect(coveredTo).toBeGreaterThan(512)
})
