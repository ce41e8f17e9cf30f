import { expect, test } from 'vitest'
import type { LaneContext } from '../engine/context.js'
import { finalUpTo, settledUpTo } from './depth.js'

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
