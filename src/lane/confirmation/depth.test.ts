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

test("'child': a block proves an end once another stands on it, so the head itself never does", () => {
  expect(settledUpTo(contextWith('child'), 10)).toBe(9)
  expect(settledUpTo(contextWith('child'), 0)).toBe(-1)
})

test('a number of blocks: so many stand above it', () => {
  expect(settledUpTo(contextWith(3), 10)).toBe(7)
})

test.each([['child'], ['safe'], [12]] as const)(
  'where the chain is at rest the head proves an end, whatever the depth: %s',
  (lossDepth) => {
    expect(settledUpTo(contextWith(lossDepth, {}, true), 10)).toBe(10)
  },
)

test("'safe': what the tag says; 12 blocks where there is no such tag; nothing while that is not known", () => {
  expect(settledUpTo(contextWith('safe', { safe: 4 }), 10)).toBe(4)
  expect(settledUpTo(contextWith('safe', { safe: 'absent' }), 20)).toBe(8)
  expect(settledUpTo(contextWith('safe'), 20)).toBe(-1)
})

test('beyond the horizon is what is finalized, and what is as many blocks deep where that does not move', () => {
  expect(finalUpTo(contextWith('child', { finalized: 90 }), 100)).toBe(90)
  expect(finalUpTo(contextWith('child', { finalized: 5 }), 100)).toBe(36)
  expect(finalUpTo(contextWith('child', { finalized: 'absent' }), 100)).toBe(36)
})
