import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../test/sim/random.js'
import type { LightHeader } from '../../rpc/codec.js'
import { medianOf } from './announcedChain.fixture.js'
import { createPacing } from './pacing.js'
import { createRefreshPeriod } from './refreshPeriod.js'

const BLOCK: LightHeader = {
  number: 1,
  hash: null,
  parentHash: '0x',
  timestamp: 0,
  baseFeePerGas: undefined,
  gasLimit: 30_000_000n,
  gasUsed: 0n,
  hashes: [],
}

type World = {
  readonly seed: number
  /** From one refresh to the next, at this time. */
  readonly periodMs: (nowMs: number) => number
  readonly trembleMs: number
  readonly roundTripMs: number
  /** Each refresh shows other transactions too. */
  readonly isBusy: boolean
  readonly pauseMs?: number
  readonly cadenceMs?: number
  readonly refreshes?: boolean
}

/** A transaction is sent now and then for this time, and appears with the next refresh. */
function watch(forMs: number, world: World) {
  const {
    seed,
    periodMs,
    trembleMs,
    roundTripMs,
    isBusy,
    pauseMs = 2_000,
    cadenceMs = 200,
    refreshes = true,
  } = world
  const random = createRandom(seed)
  const startMs = 10 ** 6
  const refreshAt: number[] = []
  for (
    let atMs = startMs + random() * periodMs(0);
    atMs < startMs + forMs + 5_000;
    atMs += periodMs(atMs - startMs)
  )
    refreshAt.push(atMs + (random() - 0.5) * 2 * trembleMs)
  let nowMs = startMs
  const pacing = createPacing({
    clock: { now: () => nowMs } as never,
    cadenceMs: () => cadenceMs,
    refreshes: () => refreshes,
    blocks: { blockMs: 2_000, steadyMs: undefined, stampedMs: 2_000 },
    feed: {
      isLive: false,
      dueMs: () => undefined,
      reliableUntilMs: () => undefined,
      announcedMs: () => undefined,
    },
  })
  let refresh = 0
  let shown = 0
  let sendMs = nowMs
  let visibleMs: number | undefined
  const found: { atMs: number; lateMs: number }[] = []
  const polls: number[] = []
  const planned: number[] = []
  while (nowMs < startMs + forMs) {
    if (visibleMs === undefined && nowMs >= sendMs) {
      pacing.sent()
      pacing.startFastPolling(1)
      visibleMs = refreshAt.find((atMs) => atMs > nowMs) as number
    }
    const askedMs = pacing.onTickStart()
    polls.push(askedMs - startMs)
    const tripMs = roundTripMs * (1 + (random() - 0.5) * 0.1)
    const readMs = nowMs + tripMs / 2
    nowMs += tripMs
    pacing.onTickAnswer()
    while ((refreshAt[refresh] as number) <= readMs) refresh++
    const isShown = visibleMs !== undefined && visibleMs <= readMs
    if (isShown) shown++
    pacing.onPendingBlock({ ...BLOCK, hashes: [`0x${isBusy ? refresh : shown}`] })
    if (isShown) {
      found.push({ atMs: nowMs - startMs, lateMs: readMs - (visibleMs as number) })
      visibleMs = undefined
      sendMs = nowMs + random() * 2 * pauseMs
      pacing.stopFastPolling()
    }
    const nextMs = pacing.next(new Set(['cadence']), { failures: 0, incomplete: 0 }) as number
    planned.push(Math.round(nextMs - askedMs))
    const dueMs = Math.max(nowMs, nextMs)
    nowMs = visibleMs === undefined ? Math.min(dueMs, Math.max(sendMs, nowMs)) : dueMs
  }
  return {
    planned,
    lateMs: (fromMs: number) => found.filter(({ atMs }) => atMs >= fromMs).map(({ lateMs }) => lateMs),
    perSecond: (fromMs: number) => (polls.filter((atMs) => atMs >= fromMs).length * 1_000) / (forMs - fromMs),
  }
}

/** The median over several worlds. */
function medianLateMs(forMs: number, fromMs: number, world: Omit<World, 'seed'>): number {
  return medianOf([1, 2, 3].flatMap((seed) => watch(forMs, { seed, ...world }).lateMs(fromMs)))
}

/** A dozen sends are enough. */
const LEARNED_MS = 30_000
const TREMBLE_MS = 10

describe.each([200, 250, 400, 1_000])('a pending block that is rebuilt every %d ms', (ms) => {
  const world = { periodMs: () => ms, trembleMs: TREMBLE_MS }

  test.each([
    [2, false],
    [2, true],
    [20, false],
    [20, true],
    [40, false],
    [40, true],
  ])(
    'is read within 25 ms of a refresh in the median: round trips of %d ms, other senders: %s',
    (roundTripMs, isBusy) => {
      const each = { ...world, roundTripMs, isBusy, pauseMs: 500 }
      expect(medianLateMs(90_000, LEARNED_MS, each)).toBeLessThanOrEqual(25)
    },
  )

  test.each([false, true])(
    'is read a little later with round trips of 80 ms, other senders: %s',
    (isBusy) => {
      const each = { ...world, roundTripMs: 80, isBusy, pauseMs: 500 }
      expect(medianLateMs(90_000, LEARNED_MS, each)).toBeLessThanOrEqual(30)
    },
  )

  test('costs six polls a second', () => {
    for (const isBusy of [false, true])
      for (const roundTripMs of [2, 20, 80]) {
        const { perSecond } = watch(240_000, { seed: 1, ...world, roundTripMs, isBusy, pauseMs: 4_000 })
        expect(perSecond(60_000)).toBeLessThanOrEqual(6)
      }
  })
})

test('a changed period is learned within two minutes', () => {
  const world = { trembleMs: TREMBLE_MS, roundTripMs: 2, isBusy: false, pauseMs: 500 }
  for (const [from, to] of [
    [200, 250],
    [250, 200],
    [400, 250],
    [250, 1_000],
  ] as const) {
    const periodMs = (nowMs: number) => (nowMs < 60_000 ? from : to)
    expect(medianLateMs(240_000, 180_000, { ...world, periodMs })).toBeLessThanOrEqual(25)
  }
})

test('refreshes that come faster than polls may are read at the cadence, at some of them', () => {
  const world = { periodMs: () => 100, trembleMs: TREMBLE_MS, roundTripMs: 2, isBusy: false, pauseMs: 4_000 }
  expect(medianLateMs(180_000, LEARNED_MS, world)).toBeLessThanOrEqual(50)
})

test('refreshes without a period cost no more than polling all the time', () => {
  const random = createRandom(7)
  const world = { periodMs: () => 50 + random() * 600, trembleMs: 0, roundTripMs: 2, isBusy: false }
  expect(Math.max(...watch(120_000, { seed: 1, ...world }).lateMs(LEARNED_MS))).toBeLessThanOrEqual(650)
})

test('polls keep the distance of a longer cadence', () => {
  const world = { periodMs: () => 250, trembleMs: 0, roundTripMs: 2, isBusy: true, pauseMs: 10_000 }
  expect(watch(180_000, { seed: 1, ...world, cadenceMs: 2_000 }).perSecond(LEARNED_MS)).toBeLessThanOrEqual(1)
})

test('a pending block that does not pre-confirm is polled at the cadence, whatever moves in it', () => {
  const world = { periodMs: () => 250, trembleMs: 0, roundTripMs: 2, isBusy: true, refreshes: false }
  expect(new Set(watch(60_000, { seed: 1, ...world }).planned)).toEqual(new Set([200]))
})

describe('the period', () => {
  /** Close polls around each of these refreshes. */
  function learn(refreshesMs: readonly number[], period = createRefreshPeriod(() => 200)) {
    for (const [number, ms] of refreshesMs.entries()) {
      period.looked(ms - 20, `${number}`, true)
      period.looked(ms + 20, `${number + 1}`, true)
    }
    return period
  }
  /** Most refreshes show nothing new. */
  const shown = [1, 3, 4, 9, 10, 14, 17, 18, 21, 26, 27, 33]

  test.each([190, 205.5, 250, 333, 400, 1_000, 1_250])(
    'of %d ms is learned from the refreshes that show something',
    (ms) => {
      expect(learn(shown.map((number) => number * ms)).ms).toBeCloseTo(ms, -0.5)
    },
  )

  test('is robust against a burst and a long gap', () => {
    const refreshesMs = shown.flatMap((number) => (number === 10 ? [2_500, 2_560] : [number * 250]))
    const late = [300, 303, 304].map((number) => number * 250)
    expect(learn([...refreshesMs.slice(0, 9), ...late]).ms).toBe(250)
  })

  test('is the cadence before a dozen refreshes, and if they have no period', () => {
    expect(learn(shown.slice(0, 11).map((number) => number * 250)).ms).toBe(200)
    for (let seed = 0; seed < 50; seed++) {
      const random = createRandom(seed)
      let atMs = 0
      const nextMs = () => {
        atMs += 50 + random() * 800
        return atMs
      }
      expect(learn(Array.from({ length: 40 }, nextMs)).ms).toBe(200)
    }
  })

  test('of 100 ms is doubled: polls are no closer than the cadence', () => {
    const refreshesMs = [...shown, 34, 38, 41, 46, 47, 50, 53, 55].map((number) => number * 100)
    expect(
      learn(
        refreshesMs,
        createRefreshPeriod(() => 250),
      ).ms,
    ).toBe(300)
    expect(learn(refreshesMs).ms).toBe(200)
  })

  test('is known at another endpoint too, and is checked there', () => {
    const period = learn(shown.map((number) => number * 250))
    expect(period.isLearning(10_000)).toBe(false)
    period.elsewhere()
    expect(period.ms).toBe(250)
    expect(period.isLearning(10_000)).toBe(true)
  })
})
