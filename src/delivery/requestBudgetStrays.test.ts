import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { seededRandom } from '../../tools/devnet/faults/seeded.js'
import { type Endpoint, saturate } from './provider.fixture.js'
import { createRequestBudget } from './requestBudget.js'

/** An endpoint without a limit that refuses a share of all calls: each alone, or with the whole request. */
function strayProvider({
  share,
  seed,
  isWhole,
}: {
  share: number
  seed: number
  isWhole: boolean
}): Endpoint {
  const random = seededRandom(seed)
  return (calls) => {
    if (isWhole) return random() < share ? calls : 0
    return Array.from({ length: calls }, random).filter((value) => value < share).length
  }
}

describe('an endpoint that objects at random', () => {
  it('gets requests at full speed as long as it refuses at most one call in a hundred', () => {
    const strays = fc.record({
      share: fc.double({ min: 0.001, max: 0.01, noNaN: true }),
      seed: fc.integer({ min: 1, max: 2 ** 31 }),
      isWhole: fc.boolean(),
    })
    fc.assert(
      fc.property(strays, (options) => {
        const endpoint = strayProvider(options)
        // Two requests of a hundred are on their way: an endpoint without a limit takes 2.5 seconds for that
        // many.
        const { tookMs } = saturate(endpoint, { amount: 10_000, batch: 100, first: [4, 1, 8, 8, 1] })
        expect(tookMs).toBeLessThanOrEqual(90_000)
      }),
      { numRuns: runsOf(100) },
    )
  })

  it('may refuse one request in a hundred, and two in a row, before a rate is concluded', () => {
    for (const [requests, strays] of [
      [99, 0],
      [100, 1],
      [199, 1],
      [200, 2],
      [1_000, 2],
    ] as const) {
      const budget = createRequestBudget()
      const ended = (denied: number) => budget.ended({ calls: 10, denied, sentAtMs: 0, atMs: 0 })
      for (let index = 0; index < requests; index++) ended(0)
      for (let index = 0; index < strays; index++) ended(10)
      expect(budget.status(0)).toMatchObject({ callsPerSecond: undefined, requestsPerSecond: undefined })
      expect(budget.status(0).denied).toBe(strays)
      ended(10)
      const { callsPerSecond, requestsPerSecond } = budget.status(0)
      expect([callsPerSecond, requestsPerSecond]).not.toEqual([undefined, undefined])
    }
  })

  it('may refuse a part of a request, which counts as that part', () => {
    const budget = createRequestBudget()
    const ended = (denied: number) => budget.ended({ calls: 10, denied, sentAtMs: 0, atMs: 0 })
    for (let index = 0; index < 11; index++) ended(0)
    ended(1)
    expect(budget.status(0).callsPerSecond).toBeUndefined()
    ended(1)
    expect(budget.status(0).callsPerSecond).toBeDefined()
  })

  it('is believed if it refuses a second request of the same moment as a whole', () => {
    const rateAfter = (denied: number) => {
      const budget = createRequestBudget()
      budget.ended({ calls: 20, denied: 0, sentAtMs: 0, atMs: 40 })
      budget.ended({ calls: 4, denied: 4, sentAtMs: 10, atMs: 50 })
      budget.ended({ calls: 4, denied, sentAtMs: 20, atMs: 50 })
      budget.ask({ id: 1, priority: 'send', calls: 100 })
      budget.grants(50)
      return budget.status(800).callsPerSecond
    }
    expect(rateAfter(4)).toBeLessThan(20)
    expect(rateAfter(2)).toBeGreaterThan(30)
  })
})
