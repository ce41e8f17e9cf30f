import { expect, test } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'
import type { LaneContext } from '../engine/core.js'
import { finalUpTo, settledUpTo } from './finality.js'

function contextWith(
  lossDepth: LaneContext['lossDepth'],
  tags: Partial<Record<'safe' | 'finalized', number | 'absent'>> = {},
  isAtRest = false,
): LaneContext {
  const tracker = { tag: (tag: 'safe' | 'finalized') => tags[tag], isAtRest }
  return { lossDepth, endpointPool: { tracker }, limits: { reorgHorizon: 64 } } as unknown as LaneContext
}

test("'child': a block proves an end once it has a child, so the head itself never does", () => {
  expect(settledUpTo(contextWith('child'), 10)).toBe(9)
  expect(settledUpTo(contextWith('child'), 0)).toBe(-1)
})

test('a number of blocks: a block proves an end below that many others', () => {
  expect(settledUpTo(contextWith(3), 10)).toBe(7)
})

test.each([['child'], ['safe'], [12]] as const)(
  'on a chain at rest the head proves an end at any depth: %s',
  (lossDepth) => {
    expect(settledUpTo(contextWith(lossDepth, {}, true), 10)).toBe(10)
  },
)

test("'safe': the tag decides; 12 blocks if the tag does not exist; nothing while the tag is unknown", () => {
  expect(settledUpTo(contextWith('safe', { safe: 4 }), 10)).toBe(4)
  expect(settledUpTo(contextWith('safe', { safe: 'absent' }), 20)).toBe(8)
  expect(settledUpTo(contextWith('safe'), 20)).toBe(-1)
})

test('the horizon is the finalized block, or a number of blocks if the tag does not advance', () => {
  expect(finalUpTo(contextWith('child', { finalized: 90 }), 100)).toBe(90)
  expect(finalUpTo(contextWith('child', { finalized: 5 }), 100)).toBe(36)
  expect(finalUpTo(contextWith('child', { finalized: 'absent' }), 100)).toBe(36)
})

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
