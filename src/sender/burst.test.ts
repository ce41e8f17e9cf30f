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
