import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { createCounting } from './counting.js'
import type { Follower, Pace } from './follower.js'

const [H1, H2]: Hash[] = ['0x01', '0x02']

function followerAt(pace: Pace, more: Partial<Follower>): Follower {
  const follower = { pace: () => pace, wantsBalance: () => false, counts() {}, ...more }
  return { address: `0x${'aa'.repeat(20)}`, ...follower } as unknown as Follower
}

/**
 * The number of calls at each of these heads for a lane with this pace. `answered`: whether the count gets an
 * answer.
 */
function askedAt(
  pace: Pace,
  heads: readonly (Hash | undefined)[],
  more: Partial<Follower> = {},
  answered = true,
) {
  const follower = followerAt(pace, more)
  let tip: Hash | undefined
  const counting = createCounting(new Set([follower]), () => tip, { now: () => 0 })
  return heads.map((head) => {
    tip = head
    const reported: ((head: number) => void)[] = []
    const parts = counting.parts(false, reported)
    if (answered) for (const { take } of parts) take({ ok: true, result: '0x1' })
    for (const report of reported) report(1)
    return parts.length
  })
}

test('a lane at the pace of blocks is counted once for each of them', () => {
  expect(askedAt('head', [H1, H1, H1, H2, H2])).toEqual([1, 0, 0, 1, 0])
})

test('a lane is not counted if the blocks contain its transactions', () => {
  expect(askedAt('head', [H1, H2], { isPassedOver: () => false })).toEqual([0, 0])
})

test('every other lane is counted at each poll, and an idle one never', () => {
  expect(askedAt('cadence', [H1, H1, H1])).toEqual([1, 1, 1])
  expect(askedAt('block', [H1, H1, H1])).toEqual([1, 1, 1])
  expect(askedAt('idle', [H1, H1])).toEqual([0, 0])
})

test('a count without an answer or a head is requested again', () => {
  expect(askedAt('head', [H1, H1, H1], {}, false)).toEqual([1, 1, 1])
  expect(askedAt('head', [undefined, undefined])).toEqual([1, 1])
})

test('a lane whose counts are compared is counted at each poll, at both tags', () => {
  expect(askedAt('head', [H1, H1], { wantsPending: () => true })).toEqual([2, 2])
})

test('a lane that a block has passed over polls at the cadence until it is counted at that block', () => {
  expect(pacesAt({ isPassedOver: () => true })).toEqual(['cadence', 'head'])
  expect(pacesAt({ isPassedOver: () => false })).toEqual(['head', 'head'])
})

/** The pace before and after a poll at one head. */
function pacesAt(more: Partial<Follower>): Pace[] {
  const follower = followerAt('head', more)
  const counting = createCounting(new Set([follower]), () => H1, { now: () => 0 })
  const before = counting.paceOf(follower)
  const reported: ((head: number) => void)[] = []
  for (const { take } of counting.parts(false, reported)) take({ ok: true, result: '0x1' })
  for (const report of reported) report(1)
  return [before, counting.paceOf(follower)]
}
