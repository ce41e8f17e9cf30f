import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { Pace } from './follower.js'
import { createPacing } from './pacing.js'

const CADENCE_MS = 200

/** No endpoint announces blocks. */
const feed = {
  isLive: false,
  dueMs: () => undefined,
  reliableUntilMs: () => undefined,
  announcedMs: () => undefined,
}

/** Milliseconds from one poll to the next. */
function interval(options: {
  pace: Pace
  blockMs?: number
  stampedMs?: number
  failures?: number
  incomplete?: number
  refreshes?: boolean
  keen?: boolean
}): number | undefined {
  const { pace, blockMs, stampedMs, failures = 0, incomplete = 0, refreshes = false, keen = false } = options
  const clock = createVirtualClock()
  const blocks = { blockMs, steadyMs: undefined, stampedMs }
  const pacing = createPacing({
    clock,
    cadenceMs: () => CADENCE_MS,
    refreshes: () => refreshes,
    blocks,
    feed,
  })
  pacing.onTickStart()
  if (keen) pacing.startFastPolling(1)
  const atMs = pacing.next(new Set([pace]), { failures, incomplete })
  return atMs === undefined ? undefined : atMs - clock.now()
}

describe('polls that only wait for a block', () => {
  test.each([
    [undefined, CADENCE_MS],
    [200, CADENCE_MS],
    [2_000, CADENCE_MS],
    [4_000, CADENCE_MS],
    [12_000, 600],
    // There may be hours between the blocks of a chain that makes them on demand.
    [3_600_000, 600],
  ])(
    'come at a twentieth of the time between blocks, and no closer than at the cadence: %s ms',
    (blockMs, expected) => {
      expect(interval({ pace: 'head', ...(blockMs === undefined ? {} : { blockMs }) })).toBe(expected)
    },
  )

  test('come at the cadence right after a send: a node that makes a block for it makes it at once', () => {
    expect(interval({ pace: 'head', blockMs: 12_000, keen: true })).toBe(CADENCE_MS)
  })

  test('come as often as usual if the endpoint does not answer, or the pending block is rebuilt', () => {
    for (const failures of [1, 2, 3])
      expect(interval({ pace: 'head', blockMs: 12_000, failures })).toBe(
        interval({ pace: 'cadence', blockMs: 12_000, failures }),
      )
    expect(interval({ pace: 'head', blockMs: 12_000, refreshes: true })).toBe(CADENCE_MS)
  })
})

test('the other paces', () => {
  expect(interval({ pace: 'cadence', blockMs: 12_000 })).toBe(CADENCE_MS)
  expect(interval({ pace: 'block', blockMs: 12_000 })).toBe(12_000)
  expect(interval({ pace: 'block', blockMs: 5_500, stampedMs: 1_000 })).toBe(1_000)
  expect(interval({ pace: 'block', blockMs: 500, stampedMs: 1_000 })).toBe(500)
  expect(interval({ pace: 'idle', blockMs: 12_000 })).toBeUndefined()
})

describe('after polls that brought a head and lacked another answer', () => {
  test('the cadence doubles up to twice, even if the pending block is rebuilt and polled closely', () => {
    const ofIncomplete = [0, 1, 2, 3, 50].map((incomplete) => interval({ pace: 'cadence', incomplete }))
    expect(ofIncomplete).toEqual([1, 2, 4, 4, 4].map((times) => times * CADENCE_MS))
    expect(interval({ pace: 'cadence', incomplete: 1, refreshes: true, keen: true })).toBe(2 * CADENCE_MS)
  })

  test('a longer interval stays as it is', () => {
    expect(interval({ pace: 'block', blockMs: 12_000, incomplete: 50 })).toBe(12_000)
  })
})

describe('a poll right after a send', () => {
  const looks = (options: { refreshes?: boolean; brings?: boolean }): boolean[] => {
    const { refreshes = false, brings = false } = options
    const pacing = createPacing({
      clock: createVirtualClock(),
      cadenceMs: () => CADENCE_MS,
      refreshes: () => refreshes,
      blocks: { blockMs: undefined, steadyMs: undefined, stampedMs: undefined },
      feed,
    })
    return Array.from({ length: 130 }, (_, number) => {
      const isLook = pacing.sent()
      pacing.onTickStart()
      if (isLook) pacing.headed(number, brings)
      return isLook
    })
  }

  test('is omitted once two of them brought no block, except after one send in 64', () => {
    const all = looks({})
    expect(all.slice(0, 3)).toEqual([true, true, false])
    expect(all.slice(2).filter(Boolean)).toHaveLength(2)
  })

  test('is made after each send if it brings a block, or the pending block is rebuilt', () => {
    expect(looks({ brings: true })).not.toContain(false)
    expect(looks({ refreshes: true })).not.toContain(false)
  })
})

test.each<[Pace, boolean]>([
  ['cadence', false],
  ['cadence', true],
  ['head', true],
])(
  'blocks that come at the cadence are polled right after they appear, at pace %s, with a pending block: %s',
  async (pace, refreshes) => {
    const clock = createVirtualClock()
    const blocks = { blockMs: CADENCE_MS, steadyMs: CADENCE_MS, stampedMs: undefined }
    const pacing = createPacing({
      clock,
      cadenceMs: () => CADENCE_MS,
      refreshes: () => refreshes,
      blocks,
      feed,
    })
    // They appear 70 ms after each full period.
    const startedMs = clock.now() - 70
    let lateMs = 0
    for (let polls = 0; polls < 60; polls++) {
      pacing.onTickStart()
      pacing.onTickAnswer()
      const number = Math.floor((clock.now() - startedMs) / CADENCE_MS)
      lateMs = (clock.now() - startedMs) % CADENCE_MS
      pacing.headed(number, true)
      const nextMs = pacing.next(new Set([pace]), { failures: 0, incomplete: 0 }) ?? 0
      await clock.advance(Math.max(1, Math.ceil(nextMs - clock.now())))
    }
    expect(Math.min(lateMs, CADENCE_MS - lateMs)).toBeLessThanOrEqual(20)
  },
)

test('a late block is polled for once a period at most while heads are announced', async () => {
  const polls = async (isLive: boolean) => {
    const clock = createVirtualClock()
    const blocks = { blockMs: CADENCE_MS, steadyMs: CADENCE_MS, stampedMs: undefined }
    const refreshes = () => false
    const cadenceMs = () => CADENCE_MS
    const pacing = createPacing({ clock, cadenceMs, refreshes, blocks, feed: { ...feed, isLive } })
    let number = 0
    let count = 0
    // Ten blocks come in time, and the eleventh does not come.
    for (const endMs = clock.now() + 12 * CADENCE_MS; clock.now() < endMs; count++) {
      pacing.onTickStart()
      pacing.onTickAnswer()
      number = Math.min(10, Math.floor((clock.now() - (endMs - 12 * CADENCE_MS)) / CADENCE_MS))
      pacing.headed(number, true)
      const nextMs = pacing.next(new Set(['head']), { failures: 0, incomplete: 0 }) ?? 0
      await clock.advance(Math.max(1, Math.ceil(nextMs - clock.now())))
    }
    return count
  }
  expect(await polls(true)).toBeLessThanOrEqual(14)
  expect(await polls(false)).toBeGreaterThan(16)
})
