import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../test/sim/random.js'
import { createPeriod } from './period.js'
import { createPhase } from './phase.js'

/** The times of the blocks of a chain, and how it is polled. */
type World = {
  readonly shownAtMs: (number: number) => number
  /** Seconds. */
  readonly stampOf: (number: number) => number
  readonly stampMsOf?: (number: number) => number
  readonly roundTripMs?: number
  /** The poll interval without a known phase. */
  readonly blindMs?: number
  /** How often each poll is planned: a send or a new follower changes the plan. */
  readonly plans?: number
  readonly seed?: number
}

type Seen = {
  /** The polls since the block before. */
  readonly looks: number
  /** From the appearance of the block until a poll was answered with it. */
  readonly delayMs: number
}

/** Polls a chain for the given number of blocks, at the times of the phase. */
function watch(blocks: number, { shownAtMs, stampOf, stampMsOf, ...polls }: World) {
  const { roundTripMs = 2, blindMs = 200, plans = 1, seed = 1 } = polls
  const random = createRandom(seed)
  const period = createPeriod()
  const phase = createPhase({ periodMs: () => period.steadyMs, showsEachMove: true })
  const seen: Seen[] = []
  const startMs = shownAtMs(0) + random() * (shownAtMs(1) - shownAtMs(0))
  let nowMs = startMs
  // The first poll does not show when its block came.
  let readMs = Number.NEGATIVE_INFINITY
  let looks = 0
  let polled = 0
  for (let number = -1; number < blocks; ) {
    const answeredMs = nowMs + roundTripMs * (0.9 + random() * 0.2)
    const unseenMs = readMs
    readMs = (nowMs + answeredMs) / 2
    looks++
    polled++
    const before = number
    while (shownAtMs(number + 1) <= readMs) number++
    if (number > before) {
      const stamp = { number, timestamp: stampOf(number), timestampMs: stampMsOf?.(number) }
      period.came(stamp, readMs, unseenMs)
      for (let came = before + 1; came <= number; came++)
        seen.push({ looks: came < number ? 0 : looks, delayMs: answeredMs - shownAtMs(came) })
      looks = 0
    }
    phase.looked(nowMs, answeredMs, number)
    const at = { startedMs: nowMs, nowMs: answeredMs, isFast: false }
    for (let plan = 1; plan < plans; plan++) phase.next(at)
    const nextMs = phase.next(at)
    expect(nextMs ?? answeredMs).toBeGreaterThanOrEqual(answeredMs)
    nowMs = Math.max(answeredMs, nextMs ?? nowMs + blindMs)
  }
  return { seen, perSecond: (polled * 1_000) / (nowMs - startMs) }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const part = (values: readonly number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] as number
const delaysOf = (seen: readonly Seen[]) => seen.map(({ delayMs }) => delayMs)
const looksOf = (seen: readonly Seen[]) => seen.map(({ looks }) => looks)
/** A node whose own timer makes the blocks dates each with the second in which it appears. */
const timed = (shownAtMs: (number: number) => number) => ({
  shownAtMs,
  stampOf: (number: number) => Math.floor(shownAtMs(number) / 1_000),
})

describe('canonical blocks of a fifth of a second, five of which share a timestamp', () => {
  const world = fc.record({
    seed: fc.integer({ min: 0, max: 1_000_000 }),
    periodMs: fc.constantFrom(200, 200.4, 199.7, 205, 250),
    trembleMs: fc.integer({ min: 0, max: 6 }),
    roundTripMs: fc.integer({ min: 1, max: 12 }),
    hasMilliseconds: fc.boolean(),
  })

  test('are seen within 25 ms in the median and 225 ms in all but one of a hundred, by six polls a second', () => {
    fc.assert(
      fc.property(world, ({ seed, periodMs, trembleMs, roundTripMs, hasMilliseconds }) => {
        const trembles = createRandom(seed)
        const atMs = Array.from(
          { length: 700 },
          (_, number) => 10 ** 6 + number * periodMs + trembles() * trembleMs,
        )
        const shownAtMs = (number: number) => atMs[number] as number
        const exact = hasMilliseconds ? { stampMsOf: (number: number) => Math.round(shownAtMs(number)) } : {}
        const { seen, perSecond } = watch(600, { ...timed(shownAtMs), ...exact, roundTripMs, seed })
        const delays = delaysOf(seen.slice(20))
        expect(part(delays, 0.5)).toBeLessThanOrEqual(25)
        expect(part(delays, 0.99)).toBeLessThanOrEqual(225)
        expect(perSecond).toBeLessThanOrEqual(6)
      }),
      { numRuns: 60 },
    )
  })

  test('are seen soon although some come late, and polls are planned again', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const trembles = createRandom(seed)
      const lateMs = () => 4 * trembles() + (trembles() < 0.03 ? 60 * trembles() : 0)
      const atMs = Array.from({ length: 700 }, (_, number) => 10 ** 6 + number * 200 + lateMs())
      const shownAtMs = (number: number) => atMs[number] as number
      const { seen, perSecond } = watch(600, { ...timed(shownAtMs), roundTripMs: 4, plans: 3, seed })
      const delays = delaysOf(seen.slice(60))
      expect(delays.filter((ms) => ms > 60).length / delays.length, `seed ${seed}`).toBeLessThanOrEqual(0.1)
      expect(perSecond).toBeLessThanOrEqual(6.1)
    }
  })

  test('cost six polls a second from the first one on, as a mean of many chains', () => {
    const rates = Array.from({ length: 60 }, (_, seed) => {
      const trembles = createRandom(seed)
      const atMs = Array.from({ length: 90 }, (_, number) => 10 ** 6 + number * 200 + 4 * trembles())
      return watch(80, { ...timed((number) => atMs[number] as number), seed }).perSecond
    })
    expect(mean(rates)).toBeLessThanOrEqual(6)
  })

  test('are found again after the chain stood still, and after it made ten blocks at once', () => {
    const shownAtMs = (number: number) => {
      const atMs = 10 ** 6 + number * 200
      if (number <= 150) return atMs
      if (number <= 300) return atMs + 5_070
      return number <= 310 ? 10 ** 6 + 301 * 200 + 5_070 + number - 301 : atMs + 5_070 - 1_790
    }
    const { seen } = watch(500, timed(shownAtMs))
    for (const [from, to] of [
      [20, 150],
      [180, 300],
      [340, 500],
    ] as const)
      expect(part(delaysOf(seen.slice(from, to)), 0.5)).toBeLessThanOrEqual(25)
  })

  test('cost six polls a second even from a cache that shows five of them at a time', () => {
    const shownAtMs = (number: number) => 10 ** 6 + Math.ceil(number / 5) * 1_000
    expect(watch(1_000, timed(shownAtMs)).perSecond).toBeLessThanOrEqual(6.1)
  })
})

test('blocks that come faster than a second are no second apart, although most are dated so: 450 to 900 ms', () => {
  const world = fc.record({
    seed: fc.integer({ min: 0, max: 1_000_000 }),
    periodMs: fc.constantFrom(450, 500, 600, 750, 800, 900),
    trembleMs: fc.integer({ min: 0, max: 6 }),
  })
  fc.assert(
    fc.property(world, ({ seed, periodMs, trembleMs }) => {
      const trembles = createRandom(seed)
      const atMs = Array.from(
        { length: 300 },
        (_, number) => 10 ** 6 + number * periodMs + trembles() * trembleMs,
      )
      const { seen, perSecond } = watch(250, { ...timed((number) => atMs[number] as number), seed })
      expect(part(delaysOf(seen.slice(100)), 0.5)).toBeLessThanOrEqual(25)
      expect(perSecond).toBeLessThanOrEqual(1_000 / periodMs + 1)
    }),
    { numRuns: 60 },
  )
})

describe('blocks that come by the clock', () => {
  const PERIOD_S = 12
  const PERIOD_MS = PERIOD_S * 1_000
  const LATE_MS = 700
  const START_S = 10_000
  const slots = (slotOf: (number: number) => number, lateMs: (number: number) => number) => ({
    stampOf: (number: number) => START_S + slotOf(number) * PERIOD_S,
    shownAtMs: (number: number) => (START_S + slotOf(number) * PERIOD_S) * 1_000 + lateMs(number),
    blindMs: 600,
  })
  const steady = (number: number) => number

  test('one poll in most periods is enough, and none is seen much later than it is shown', () => {
    const seen = watch(
      200,
      slots(steady, () => LATE_MS),
    ).seen.slice(8)
    expect(mean(looksOf(seen))).toBeLessThan(1.25)
    expect(Math.max(...delaysOf(seen))).toBeLessThan(PERIOD_MS / 50)
  })

  test('that are shown up to a second later or earlier cost few additional polls', () => {
    const seen = watch(
      400,
      slots(steady, (number) => LATE_MS + ((number * 7_919) % 1_000)),
    ).seen.slice(8)
    expect(mean(looksOf(seen))).toBeLessThan(2)
    expect(mean(delaysOf(seen))).toBeLessThan(1_000)
  })

  test('a slot without a block is waited through, with growing pauses', () => {
    const seen = watch(
      100,
      slots(
        (number) => number + Math.floor(number / 10),
        () => LATE_MS,
      ),
    ).seen.slice(8)
    expect(Math.max(...looksOf(seen))).toBeLessThan(30)
    expect(Math.max(...delaysOf(seen))).toBeLessThanOrEqual(PERIOD_MS / 20)
  })
})

describe("blocks that come by the node's own timer", () => {
  test.each([
    ['a timer that is a little slow', 2_003],
    ['a timer that is a little fast', 1_999],
    ['a timer of 12 seconds that is a little slow', 12_010],
  ])('%s crosses full seconds, and hardly costs additional polls', (_, periodMs) => {
    const { seen } = watch(
      2_500,
      timed((number) => 500_500 + number * periodMs),
    )
    expect(mean(looksOf(seen.slice(8)))).toBeLessThan(1.5)
    expect(part(delaysOf(seen.slice(20)), 0.5)).toBeLessThanOrEqual(Math.max(25, periodMs / 100))
    expect(Math.max(...delaysOf(seen.slice(500)))).toBeLessThanOrEqual(periodMs / 20)
  })
})

test('a slow answer from before the move is followed by a poll at once, not a period later', () => {
  const phase = createPhase({ periodMs: () => 2_000, showsEachMove: true })
  for (let number = 0; number < 10; number++) phase.looked(number * 2_000, number * 2_000 + 2, number)
  phase.looked(19_700, 20_150, 9)
  const nextMs = phase.next({ startedMs: 19_700, nowMs: 20_150, isFast: false })
  expect(nextMs).toBeLessThanOrEqual(20_250)
})

describe('the time between blocks', () => {
  const learn = (blocks: readonly (readonly [number: number, timestamp: number, seenMs: number])[]) => {
    const period = createPeriod()
    for (const [number, timestamp, seenMs] of blocks) period.came({ number, timestamp }, seenMs, seenMs - 100)
    return period
  }
  const at = (stamps: readonly number[]) =>
    learn(stamps.map((stamp, number) => [number, stamp, stamp * 1_000 + 700] as const))

  test('one step that is a second longer, and one that is a second shorter, leave it known', () => {
    expect(at([0, 2, 4, 6, 8, 11, 12, 14]).steadyMs).toBe(2_000)
  })

  test.each([
    ['before some blocks were seen', [0, 12]],
    ['if the times between blocks have no common measure', [0, 12, 25, 31, 47, 48, 90]],
  ])('is not steady %s', (_, stamps) => {
    expect(at(stamps).steadyMs).toBeUndefined()
  })

  test('ignores timestamps a second apart if the blocks are made at once', () => {
    const period = learn(Array.from({ length: 10 }, (_, number) => [number, 5 + number, 5_000 + number]))
    expect(period.steadyMs).toBe(1)
  })

  test('is not a second if several blocks share one', () => {
    const blocks = (periodMs: number) =>
      Array.from({ length: 16 }, (_, number) => {
        const atMs = 50_300 + number * periodMs
        return [number, Math.floor(atMs / 1_000), atMs] as const
      })
    expect(learn(blocks(750)).steadyMs).toBe(750)
    expect(learn(blocks(500)).steadyMs).toBe(500)
    expect(learn(blocks(1_001)).steadyMs).toBe(1_000)
  })

  test('is the round number near the mean while the mean is known roughly', () => {
    const period = createPeriod()
    const seenMs = [0, 190, 400, 570, 760, 960, 1_150, 1_340]
    for (const [number, ms] of seenMs.entries()) period.came({ number, timestamp: 0 }, 5_000 + ms, 4_800 + ms)
    expect(period.steadyMs).toBe(200)
  })

  test('is the median of the last 32: a burst and a pause do not change it', () => {
    const gaps = [200, 200, 200, 5_000, 200, 200, 1, 1, 1, 200, 200, 200, 200]
    let seenMs = 0
    const nextMs = (gap: number) => {
      seenMs += gap
      return seenMs
    }
    const period = learn(gaps.map((gap, number) => [number, 0, nextMs(gap)]))
    expect(period.medianMs).toBe(200)
    for (let number = gaps.length; number < gaps.length + 32; number++)
      period.came({ number, timestamp: 0 }, nextMs(300), seenMs)
    expect(period.medianMs).toBe(300)
  })

  test('is that of the timestamps in milliseconds, where blocks have them', () => {
    const period = createPeriod()
    for (let number = 0; number < 10; number++) {
      const seenMs = number * 250 + (number % 3) * 60
      period.came({ number, timestamp: 0, timestampMs: number * 250 }, seenMs, seenMs - 200)
    }
    expect(period.steadyMs).toBe(250)
  })

  test('is known from another endpoint too, which shows the blocks at other times', () => {
    const period = at([0, 2, 4, 6])
    period.elsewhere()
    period.came({ number: 4, timestamp: 8 }, 60_000, 50_000)
    expect(period.medianMs).toBe(2_000)
    expect(period.steadyMs).toBe(2_000)
  })
})

test('there is no phase once no block has come for some periods', () => {
  const phase = createPhase({ periodMs: () => 200, showsEachMove: true })
  for (let number = 0; number < 10; number++) phase.looked(number * 200, number * 200 + 2, number)
  const next = (nowMs: number) => phase.next({ startedMs: nowMs - 2, nowMs, isFast: false })
  expect(next(1_802)).toBeLessThanOrEqual(2_010)
  expect(next(2_700)).toBeUndefined()
})

test('a chain that is cut back is followed from its new head on', () => {
  const phase = createPhase({ periodMs: () => 200, showsEachMove: true })
  for (let number = 0; number < 10; number++) phase.looked(number * 200, number * 200 + 2, number)
  phase.looked(2_000, 2_002, 4)
  expect(phase.next({ startedMs: 2_000, nowMs: 2_002, isFast: false })).toBeLessThanOrEqual(2_202)
})
