import { expect, test } from 'vitest'
import { memoryStore } from '../../store/memory.js'
import { createShared } from '../environment.js'
import { createSenderIn } from '../sender.js'
import { openLane, transfer } from '../simLane.fixture.js'

const LOSS_DEPTH = 3

/** A lane that ended with one settled transaction. Its chain has forked below it since, and is as high as its block. */
async function openForked() {
  const lane = await openLane({ store: memoryStore(), lossDepth: LOSS_DEPTH })
  await lane.blocks(2)
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.settle(tx.wait())
  await lane.blocks(LOSS_DEPTH + 1)
  await lane.settle(lane.sender.close())
  const height = lane.chain.canonical.findIndex(({ executed }) => executed.length > 0)
  lane.chain.rewind({ blocks: lane.chain.canonical.length - height, keepsPool: false })
  lane.chain.seal()
  expect(lane.chain.canonical.length - 1).toBe(height)
  const again = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
  let deepReorgs = 0
  again.on('deepReorg', () => deepReorgs++)
  await lane.settle(again.ready())
  return { lane, again, deepReorgs: () => deepReorgs }
}

test('a settled block leaves once another branch has as many blocks above its number', async () => {
  const { lane, again, deepReorgs } = await openForked()
  await using _ = lane
  await lane.blocks(LOSS_DEPTH - 1)
  expect(deepReorgs()).toBe(0)
  expect(lane.executed()).toEqual([])
  await lane.blocks(2)
  expect(deepReorgs()).toBe(1)
  await lane.settle(again.close())
})
