import { expect, test } from 'vitest'
import { createHorizon, type DeclaredFinality, settledUpTo } from './depths.js'

const NOW_STANDING = Number.POSITIVE_INFINITY

type Tags = Partial<Record<'safe' | 'finalized', number | 'absent'>>

function contextWith(
  lossDepth: 'child' | 'safe' | number,
  tags: Tags = {},
  {
    isAtRest = false,
    stoodUpTo = NOW_STANDING,
    blockMs,
  }: { isAtRest?: boolean; stoodUpTo?: number; blockMs?: number } = {},
) {
  return {
    lossDepth,
    endpointPool: { tracker: { tag: (tag: keyof Tags) => tags[tag], isAtRest, stoodUpTo, blockMs } },
  }
}

function horizonWith(tags: Tags, finality?: DeclaredFinality) {
  return createHorizon({ ...contextWith('child', tags), finality })
}

test("'child': a block proves an end once it has a child, so the head itself never does", () => {
  expect(settledUpTo(contextWith('child'), 10)).toBe(9)
  expect(settledUpTo(contextWith('child'), 0)).toBe(-1)
})

test("'child': a block proves an end once it has stood for long enough, however many children it has", () => {
  expect(settledUpTo(contextWith('child', {}, { stoodUpTo: 4 }), 10)).toBe(4)
  expect(settledUpTo(contextWith('child', {}, { stoodUpTo: -1 }), 10)).toBe(-1)
})

test('a number of blocks: a block proves an end below that many others', () => {
  expect(settledUpTo(contextWith(3), 10)).toBe(7)
})

test.each([['child'], ['safe'], [12]] as const)(
  'on a chain at rest the head proves an end at any depth: %s',
  (lossDepth) => {
    expect(settledUpTo(contextWith(lossDepth, {}, { isAtRest: true }), 10)).toBe(10)
  },
)

test("'safe': the tag decides; 12 blocks if the tag does not exist; nothing while the tag is unknown", () => {
  expect(settledUpTo(contextWith('safe', { safe: 4 }), 10)).toBe(4)
  expect(settledUpTo(contextWith('safe', { safe: 'absent' }), 20)).toBe(8)
  expect(settledUpTo(contextWith('safe'), 20)).toBe(-1)
})

test.each([
  { blockMs: 200, depth: 120 },
  { blockMs: 2_000, depth: 12 },
  { blockMs: 12_000, depth: 12 },
])("'safe' without the tag: 12 blocks, and 24 s of blocks of $blockMs ms", ({ blockMs, depth }) => {
  expect(settledUpTo(contextWith('safe', { safe: 'absent' }, { blockMs }), 1_000)).toBe(1_000 - depth)
})

test.each<[string, DeclaredFinality | undefined]>([
  ['nothing', undefined],
  ['a depth', { depth: 3 }],
  ['an age', { afterMs: 1 }],
])(
  'the finalized tag alone counts where the endpoint has it, and nothing while that is unknown; declared: %s',
  (_, finality) => {
    const tagged = horizonWith({ finalized: 5 }, finality)
    const unknown = horizonWith({}, finality)
    for (const horizon of [tagged, unknown])
      for (let number = 0; number <= 100_000; number += 1_000) horizon.joined({ number, timestamp: number })
    expect([tagged.upTo(100_000), unknown.upTo(100_000)]).toEqual([5, -1])
  },
)

test('without the tag, a declared depth is counted from the head', () => {
  expect(horizonWith({ finalized: 'absent' }, { depth: 30 }).upTo(100)).toBe(70)
})

/** Blocks of 2 s, of which the one with the number n has the timestamp 2n. */
function agedTo(last: number, finality?: DeclaredFinality) {
  const horizon = horizonWith({ finalized: 'absent' }, finality)
  for (let number = 0; number <= last; number++) horizon.joined({ number, timestamp: 2 * number })
  return horizon
}

test('without the tag, a declared age is the difference of timestamps to the newest block', () => {
  expect(agedTo(100, { afterMs: 30_000 }).upTo(100)).toBe(85)
})

test('without the tag and a declaration, a block is beyond the horizon one hour later', () => {
  expect(agedTo(1_799).upTo(1_799)).toBe(-1)
  const { length: hour } = Array.from({ length: 1_800 })
  const reached = agedTo(hour + 200).upTo(hour + 200)
  expect(reached).toBeLessThanOrEqual(200)
  // A 64th of the hour, in blocks.
  expect(reached).toBeGreaterThan(200 - hour / 64 - 1)
})

test('a block that left the chain is not beyond the horizon, nor is a block above it', () => {
  const horizon = agedTo(100, { afterMs: 30_000 })
  expect(horizon.upTo(100)).toBe(85)
  horizon.left({ number: 80, hash: '0x80' })
  expect(horizon.upTo(100)).toBe(79)
})
