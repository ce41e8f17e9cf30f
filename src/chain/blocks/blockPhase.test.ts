import { describe, expect, test } from 'vitest'
import { createBlockPhase } from './phase.js'

const PERIOD_S = 12
const PERIOD_MS = PERIOD_S * 1_000
/** The time from the second of a block's timestamp until the node shows the block. */
const LATE_MS = 700
/** The poll interval without a known pace. */
const BLIND_MS = 600

/**
 * Polls a chain for the given number of blocks, at the times of the phase. `lateMs`: for each block. Returns
 * for each block the number of polls, and the time from its appearance until it was seen.
 */
function watch(blocks: number, stampOf: (number: number) => number, lateMs: (number: number) => number) {
  return watchShown(blocks, stampOf, (number) => stampOf(number) * 1_000 + lateMs(number))
}

/** A node whose own timer makes the blocks: each is dated with the second in which it appears. */
function watchTimer(blocks: number, shownAtMs: (number: number) => number) {
  return watchShown(blocks, (number) => Math.floor(shownAtMs(number) / 1_000), shownAtMs)
}

function watchShown(
  blocks: number,
  stampOf: (number: number) => number,
  shownAtMs: (number: number) => number,
) {
  const phase = createBlockPhase()
  const seen: { readonly looks: number; readonly delayMs: number }[] = []
  let nowMs = shownAtMs(0)
  for (let number = 0, looks = 0; number < blocks; ) {
    while (shownAtMs(number + 1) <= nowMs) number++
    looks++
    if (number >= seen.length) {
      seen.push({ looks, delayMs: nowMs - shownAtMs(number) })
      looks = 0
    }
    phase.looked(nowMs, { number, timestamp: stampOf(number) })
    const nextMs = phase.next(nowMs)
    nowMs = nextMs === undefined ? nowMs + BLIND_MS : Math.max(nowMs + 1, nextMs)
  }
  return seen
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const steady = (number: number) => number * PERIOD_S

describe('blocks that come by the clock', () => {
  test('one poll in most periods is enough, and none is seen much later than it is shown', () => {
    const seen = watch(200, steady, () => LATE_MS).slice(8)
    expect(mean(seen.map(({ looks }) => looks))).toBeLessThan(1.25)
    expect(Math.max(...seen.map(({ delayMs }) => delayMs))).toBeLessThan(PERIOD_MS / 50)
  })

  test('that are shown up to a second later or earlier cost few additional polls', () => {
    const seen = watch(400, steady, (number) => LATE_MS + ((number * 7_919) % 1_000)).slice(8)
    expect(mean(seen.map(({ looks }) => looks))).toBeLessThan(2)
    expect(mean(seen.map(({ delayMs }) => delayMs))).toBeLessThan(1_000)
  })

  test('a slot without a block is waited through, with growing pauses', () => {
    const skips = (number: number) => (number + Math.floor(number / 10)) * PERIOD_S
    const seen = watch(100, skips, () => LATE_MS).slice(8)
    expect(Math.max(...seen.map(({ looks }) => looks))).toBeLessThan(30)
    expect(Math.max(...seen.map(({ delayMs }) => delayMs))).toBeLessThanOrEqual(PERIOD_MS / 20)
  })
})

describe("blocks that come by the node's own timer", () => {
  test.each([
    ['a timer that is a little slow', 2_003],
    ['a timer that is a little fast', 1_999],
    ['a timer of 12 seconds that is a little slow', 12_010],
  ])('%s crosses full seconds, and hardly costs additional polls', (_, periodMs) => {
    const seen = watchTimer(2_500, (number) => 500_500 + number * periodMs)
    expect(mean(seen.slice(8).map(({ looks }) => looks))).toBeLessThan(1.5)
    // The first blocks are seen late by up to the pause of the polls without a pace.
    expect(Math.max(...seen.slice(500).map(({ delayMs }) => delayMs))).toBeLessThanOrEqual(periodMs / 20)
  })

  test('one step that is a second longer, and one that is a second shorter, leave the pace known', () => {
    const phase = createBlockPhase()
    const stamps = [0, 2, 4, 6, 8, 11, 12, 14]
    for (const [number, timestamp] of stamps.entries())
      phase.looked(number * 2_000 + LATE_MS, { number, timestamp })
    expect(phase.next(14_000 + LATE_MS)).toBeCloseTo(16_000 + LATE_MS, -2)
  })
})

describe('there is no usable pace', () => {
  test.each([
    ['before some blocks were seen', [0, 12]],
    ['if the times between blocks have no common measure', [0, 12, 25, 31, 47]],
    ['if many steps are a second longer', [0, 2, 4, 7, 9, 12, 14, 17]],
    ['with several blocks in a second', [0, 0, 0, 1, 1]],
  ])('%s', (_, stamps) => {
    const phase = createBlockPhase()
    for (const [number, timestamp] of stamps.entries())
      phase.looked(timestamp * 1_000 + LATE_MS, { number, timestamp })
    expect(phase.next(100_000)).toBeUndefined()
  })

  test('if blocks are dated a second apart, and made at once', () => {
    const phase = createBlockPhase()
    for (let number = 0; number < 10; number++)
      phase.looked(5_000 + number, { number, timestamp: 5 + number })
    expect(phase.next(5_010)).toBeUndefined()
  })

  test('once none has come for some periods', () => {
    const phase = createBlockPhase()
    for (let number = 0; number < 5; number++)
      phase.looked(number * PERIOD_MS + LATE_MS, { number, timestamp: number * PERIOD_S })
    expect(phase.next(4 * PERIOD_MS + LATE_MS)).toBeLessThanOrEqual(5 * PERIOD_MS + LATE_MS)
    expect(phase.next(20 * PERIOD_MS)).toBeUndefined()
  })
})

test('a chain that is cut back is followed from its new head on', () => {
  const phase = createBlockPhase()
  for (let number = 0; number < 5; number++)
    phase.looked(number * PERIOD_MS + LATE_MS, { number, timestamp: number * PERIOD_S })
  const cutMs = 5 * PERIOD_MS + LATE_MS
  phase.looked(cutMs, { number: 2, timestamp: 5 * PERIOD_S })
  expect(phase.next(cutMs)).toBe(cutMs + PERIOD_MS)
})
