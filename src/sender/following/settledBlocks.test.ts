import { expect, test } from 'vitest'
import { memoryStore } from '../../store/memory.js'
import { createShared } from '../environment.js'
import { createSenderIn } from '../sender.js'
import { openLane, transfer } from '../simLane.fixture.js'

/** A lane that ended with one settled transaction. Its chain has forked below it since, and is as high as its block. */
async function openForked(lossDepth: number) {
  const lane = await openLane({ store: memoryStore(), lossDepth })
  await lane.blocks(2)
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.settle(tx.wait())
  await lane.blocks(lossDepth + 1)
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

test.each([1, 2, 5])(
  'a settled block leaves once another branch has %i blocks above its number, as an end needs there',
  async (lossDepth) => {
    const { lane, again, deepReorgs } = await openForked(lossDepth)
    await using _ = lane
    await lane.blocks(lossDepth - 1)
    expect(deepReorgs()).toBe(0)
    expect(lane.executed()).toEqual([])
    await lane.blocks(2)
    expect(deepReorgs()).toBe(1)
    await lane.settle(again.close())
  },
)
