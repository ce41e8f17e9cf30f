import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { createCounting } from './counting.js'
import type { Follower, Pace } from './follower.js'

const [H1, H2]: Hash[] = ['0x01', '0x02']

/** What is asked at each of these heads of a lane with this pace; `answered`: whether the count has an answer. */
function askedAt(
  pace: Pace,
  heads: readonly (Hash | undefined)[],
  more: Partial<Follower> = {},
  answered = true,
) {
  const follower = {
    address: `0x${'aa'.repeat(20)}`,
    pace: () => pace,
    wantsBalance: () => false,
    counts() {},
    ...more,
  } as unknown as Follower
  const counting = createCounting(new Set([follower]), { now: () => 0 })
  return heads.map((head) => {
    const told: ((head: number) => void)[] = []
    const parts = counting.parts({ head, pending: false }, told)
    if (answered) for (const { take } of parts) take({ ok: true, result: '0x1' })
    for (const tell of told) tell(1)
    return parts.length
  })
}

test('a lane that only blocks say something to is counted once for each of them', () => {
  expect(askedAt('head', [H1, H1, H1, H2, H2])).toEqual([1, 0, 0, 1, 0])
})

test('every other lane is counted at each look, and an idle one never', () => {
  expect(askedAt('cadence', [H1, H1, H1])).toEqual([1, 1, 1])
  expect(askedAt('block', [H1, H1, H1])).toEqual([1, 1, 1])
  expect(askedAt('idle', [H1, H1])).toEqual([0, 0])
})

test('a count that was not answered, or belongs to no head, is asked for again', () => {
  expect(askedAt('head', [H1, H1, H1], {}, false)).toEqual([1, 1, 1])
  expect(askedAt('head', [undefined, undefined])).toEqual([1, 1])
})

test('a lane whose counts are held against each other is counted at each look, at both tags', () => {
  expect(askedAt('head', [H1, H1], { wantsPending: () => true })).toEqual([2, 2])
})
