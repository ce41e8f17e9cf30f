import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../test/sim/random.js'
import { createPhase } from './phase.js'

const PERIOD_MS = 200

type World = {
  readonly seed: number
  /** When the node rebuilds its blocks: the offset in the period, the jitter, and the period. */
  readonly offsetMs: number
  readonly trembleMs: number
  readonly realMs: number
  readonly roundTripMs: number
}

/** A transaction is sent now and then, and appears with the next refresh. Nothing else changes. */
function watch({ seed, offsetMs, trembleMs, realMs, roundTripMs }: World, sends: number) {
  const random = createRandom(seed)
  const phase = createPhase({ periodMs: () => PERIOD_MS, showsEachMove: false })
  const trembles = new Map<number, number>()
  const refreshAt = (number: number) => {
    const tremble = trembles.get(number) ?? (random() - 0.5) * 2 * trembleMs
    trembles.set(number, tremble)
    return offsetMs + number * realMs + tremble
  }
  const numberAt = (ms: number) => {
    let at = Math.floor((ms - offsetMs) / realMs) + 1
    while (refreshAt(at) > ms) at--
    return at
  }
  let now = 10_000
  let looks = 0
  let number = Math.ceil((now - offsetMs) / realMs)
  let shown = 0
  const foundMs: number[] = []
  // The refreshes that polls have shown since the period is known, and how many of them were counted.
  const showed = { refreshes: 0, counted: 0 }
  let before: { readonly number: number; readonly counted: number } | undefined
  let waiting: { sentMs: number; visibleMs: number } | undefined
  let sentMs = now

  while (foundMs.length < sends) {
    if (waiting === undefined && now >= sentMs) {
      while (refreshAt(number) <= now) number++
      waiting = { sentMs: now, visibleMs: refreshAt(number) }
    }
    const [askedMs, answeredMs] = [now, now + roundTripMs * (0.7 + random() * 0.6)]
    const readMs = (askedMs + answeredMs) / 2
    looks++
    if (waiting && waiting.visibleMs <= readMs) {
      shown++
      foundMs.push(answeredMs - waiting.visibleMs)
      waiting = undefined
      sentMs = answeredMs + random() * 400
    }
    phase.looked(askedMs, answeredMs, String(shown))
    const counted = phase.moves
    const newest = numberAt(readMs)
    if (before !== undefined && counted !== undefined && foundMs.length >= 10) {
      showed.refreshes += Math.min(1, newest - before.number)
      showed.counted += counted - before.counted
    }
    before = counted === undefined ? undefined : { number: newest, counted }
    const keen = waiting !== undefined && now - waiting.sentMs < 3 * PERIOD_MS
    // As `Pacing` polls before the phase is known.
    const blindMs = askedMs + (keen ? 50 : PERIOD_MS)
    const nextMs = phase.next({ startedMs: askedMs, nowMs: answeredMs, isFast: keen }) ?? blindMs
    expect(nextMs).toBeGreaterThanOrEqual(answeredMs)
    // A new transaction is polled for at once, because it wakes the poller.
    now = waiting === undefined ? Math.min(nextMs, Math.max(sentMs, answeredMs)) : nextMs
  }
  return { foundMs, showed, looksPerSecond: (looks * 1_000) / (now - 10_000) }
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

const world = fc.record({
  seed: fc.integer(),
  offsetMs: fc.integer({ min: 0, max: 199 }),
  trembleMs: fc.integer({ min: 0, max: 4 }),
  realMs: fc.constant(PERIOD_MS),
  roundTripMs: fc.integer({ min: 1, max: 12 }),
})

describe('the phase of the refreshes', () => {
  test('is found after a few observations: from then on a refresh is known soon after it was made', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { foundMs } = watch(given, 60)
        const settled = foundMs.slice(10)
        expect(median(settled)).toBeLessThan(14 + given.roundTripMs + 2 * given.trembleMs)
      }),
    )
  })

  test('a period other than the expected one costs no more than polling all the time', () => {
    fc.assert(
      fc.property(world, fc.integer({ min: 120, max: 1_000 }), (given, realMs) => {
        const { foundMs } = watch({ ...given, realMs }, 40)
        expect(Math.max(...foundMs)).toBeLessThan(PERIOD_MS + LATE + given.roundTripMs * 2)
      }),
    )
  })

  test('refreshes are counted, including those without a change', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { showed } = watch(given, 60)
        // They jitter: one of many may count for its neighbour.
        expect(showed.refreshes).toBeGreaterThan(50)
        expect(Math.abs(showed.counted - showed.refreshes)).toBeLessThanOrEqual(2 + showed.refreshes / 50)
      }),
      // Round trips that vary: polls that are too early by a millisecond were not counted.
      { examples: [[{ seed: 699259568, offsetMs: 0, trembleMs: 0, realMs: 200, roundTripMs: 11 }]] },
    )
  })

  test('the number of refreshes is unknown before their period is', () => {
    const phase = createPhase({ periodMs: () => PERIOD_MS, showsEachMove: false })
    phase.looked(1_000, 1_004, 'a')
    expect(phase.moves).toBeUndefined()
    phase.looked(1_050, 1_054, 'b')
    const before = phase.moves as number
    // The next is due between 1,200 and 1,252.
    phase.looked(1_190, 1_194, 'b')
    expect(phase.moves).toBe(before)
    phase.looked(1_252, 1_256, 'b')
    expect(phase.moves).toBe(before + 1)
    phase.looked(1_280, 1_284, 'b')
    expect(phase.moves).toBe(before + 1)
    phase.forget()
    expect(phase.moves).toBeUndefined()
  })

  test('without changes there is one poll per period, and one more in ten', () => {
    const phase = createPhase({ periodMs: () => PERIOD_MS, showsEachMove: false })
    phase.looked(1_000, 1_004, 'a')
    phase.looked(1_050, 1_054, 'b')
    let now = 1_054
    let looks = 0
    for (; now < 61_054; looks++) {
      const at = phase.next({ startedMs: now - 4, nowMs: now, isFast: false }) as number
      phase.looked(at, at + 4, 'b')
      now = at + 4
    }
    expect(looks / 60).toBeLessThan(5.7)
    expect(looks / 60).toBeGreaterThan(4.9)
  })
})

const LATE = 60
