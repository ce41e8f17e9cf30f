import { expect, test } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'

test('does not finalize transactions of an old block from an earlier process before it is known to be canonical', async () => {
  const store = memoryStore()
  await using lane = await openLane({ store, lossDepth: 8, limits: { reorgHorizon: 12 } })
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.settle(tx.wait('sealed'))
  await lane.settle(lane.sender.close())
  lane.chain.reorg({ depth: 2, drops: () => true })
  await lane.blocks(20)
  expect(lane.executed()).toEqual([])
  const again = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
  const found = await lane.settle(again.get(tx.id))
  const stages: (string | undefined)[] = []
  while (lane.executed().length === 0) {
    await lane.clock.advance(100)
    stages.push(found?.stage)
  }
  expect(new Set(stages)).not.toContain('finalized')
  expect(await lane.settle(found?.wait('finalized') ?? Promise.reject())).toMatchObject({ nonce: 0 })
  await lane.settle(again.close())
})
