import { expect, test } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'

/**
 * A lane whose owner ended with one settled transaction, and its successor. Both know the settled block as
 * the newest, because the successor's endpoint lags. Then another block takes its place: before the
 * successor's first poll, or after the successor has `walked` the settled block.
 */
async function openForked(lossDepth: number, { walked }: { walked: boolean }) {
  const lane = await openLane({ store: memoryStore(), lossDepth })
  await lane.blocks(2)
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.settle(tx.wait())
  await lane.blocks(lossDepth + 1)
  await lane.settle(lane.sender.close())
  const height = lane.chain.canonical.findIndex(({ executed }) => executed.length > 0)
  const again = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
  let deepReorgs = 0
  again.on('deepReorg', () => deepReorgs++)
  lane.chain.rewind({ blocks: lane.chain.canonical.length - 1 - height, keepsPool: false })
  if (walked) await lane.settle(again.ready())
  lane.chain.rewind({ blocks: 1, keepsPool: false })
  lane.chain.seal()
  expect(lane.chain.canonical.length - 1).toBe(height)
  await lane.settle(again.ready())
  return { lane, again, deepReorgs: () => deepReorgs }
}

const cases = [1, 2, 5].flatMap((lossDepth) => [false, true].map((walked) => ({ lossDepth, walked })))

test.each(cases)(
  'drops a settled block once another branch has as many blocks above its number as an end needs: %o',
  async ({ lossDepth, walked }) => {
    const { lane, again, deepReorgs } = await openForked(lossDepth, { walked })
    await using _ = lane
    await lane.blocks(lossDepth - 1)
    expect(deepReorgs()).toBe(0)
    expect(lane.executed()).toEqual([])
    await lane.blocks(2)
    expect(deepReorgs()).toBe(1)
    await lane.settle(again.close())
  },
)
