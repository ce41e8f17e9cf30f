import { describe, expect, it } from 'vitest'
import { cutBucket, isClose, wantedRates } from './bucket.fixture.js'
import { createTokenBucket, type TokenBucket } from './tokenBucket.js'

/**
 * A bucket that passed 4 units, then was refused 8 more and others of the same time: the limit may be up to
 * 11.
 */
function searching(atMs = 0): TokenBucket {
  const bucket = createTokenBucket()
  bucket.passed(4, atMs)
  bucket.cut(atMs, 8, 5)
  bucket.confirmed(atMs)
  return bucket
}

describe('a meter without a limit', () => {
  it('passes any number of units at once', () => {
    const bucket = createTokenBucket()
    expect([bucket.isLimited, bucket.isNearLimit(0), bucket.rate(0)]).toEqual([
      false,
      false,
      Number.POSITIVE_INFINITY,
    ])
    expect([bucket.portion(0), bucket.perSecond(0)]).toEqual([
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ])
    bucket.take(1_000_000, 0)
    expect(bucket.availableAt(1_000_000, 0)).toBe(0)
  })
})

describe('the rate after an objection', () => {
  it('is four fifths of the units that passed, and a request holds a quarter of it', () => {
    const bucket = cutBucket()
    expect([bucket.rate(100), bucket.portion(100), bucket.perSecond(100)]).toEqual([16, 4, 16])
    expect(bucket.availableAt(4, 100)).toBe(350)
    expect([bucket.isLimited, bucket.isNearLimit(100)]).toEqual([true, false])
    // At most one request's worth of units is saved up.
    bucket.take(4, 10_000)
    expect(bucket.availableAt(4, 10_000)).toBe(10_250)
  })

  it('grows by a twentieth of the limit per second as long as there is demand, then by a hundredth', () => {
    const bucket = cutBucket()
    isClose(wantedRates(bucket, [100, 1_100, 2_100]), [16, 17.2, 18.4])
    // It does not grow without further demand.
    expect(bucket.rate(3_100)).toBeCloseTo(19.6, 9)
    expect(bucket.rate(3_101)).toBeCloseTo(19.6, 9)
    expect(bucket.rate(5_000)).toBeCloseTo(19.6, 9)
    isClose(wantedRates(bucket, [6_000, 7_000]), [20.8, 22])
    expect(bucket.isNearLimit(7_000)).toBe(true)
    isClose(wantedRates(bucket, [8_000, 9_000]), [22.24, 22.48])
  })

  it('grows twice as fast after each ten seconds without an objection', () => {
    const bucket = cutBucket()
    for (let ms = 100; ms < 10_100; ms += 500) wantedRates(bucket, [ms])
    const [before = 0, after = 0, later = 0] = wantedRates(bucket, [10_099, 10_199, 10_299])
    expect(later - after).toBeCloseTo(0.1 * 24 * 0.01 * 2, 9)
    expect(after - before).toBeCloseTo(0.1 * 24 * 0.01 * 2, 9)
  })

  it('is forgotten at a hundred times the limit', () => {
    const bucket = cutBucket()
    let last = 0
    for (let ms = 100; bucket.isLimited && ms < 200_000; ms += 100) {
      last = bucket.rate(ms)
      bucket.wanted(ms)
    }
    expect(bucket.isLimited).toBe(false)
    expect(last).toBe(Number.POSITIVE_INFINITY)
    expect(bucket.availableAt(1_000, 200_000)).toBe(200_000)
    for (const [units, isLimited] of [
      [5_999, true],
      [6_000, false],
    ] as const) {
      const other = cutBucket()
      other.rate(5_000)
      // Half of it may have been saved up. The rate is four fifths of the other half: 2,400, and the limit
      // was 24.
      other.passed(units, 5_000)
      wantedRates(other, [5_000])
      expect(other.isLimited).toBe(isLimited)
    }
  })

  it('is concluded from the earlier rate if a second shows a few units more than that', () => {
    for (const [atMs, rate] of [
      [1_100, 0.8 * 16],
      [1_099, 0.8 * 20],
    ] as const) {
      const bucket = cutBucket()
      bucket.passed(20, 1_050)
      bucket.cut(atMs, 1, 1)
      expect(bucket.rate(atMs)).toBeCloseTo(rate, 9)
    }
  })

  it('is the given rate until the first objection', () => {
    const bucket = createTokenBucket(10)
    isClose(wantedRates(bucket, [0, 1_000, 60_000]), [10, 10, 10])
    bucket.passed(50, 60_000)
    expect(bucket.rate(60_000)).toBe(10)
  })

  it.each([5, 10])('is at most the given rate, and grows back to it: after %d units passed', (units) => {
    const bucket = createTokenBucket(10)
    bucket.passed(units, 0)
    bucket.cut(0, 1, 1)
    expect(bucket.rate(0)).toBeCloseTo(0.8 * units, 9)
    for (let ms = 0; ms <= 120_000; ms += 500) wantedRates(bucket, [ms])
    expect(bucket.rate(120_000)).toBe(10)
  })

  it('is the given rate again once it has grown to a hundred times the refused rate', () => {
    const bucket = createTokenBucket(500)
    bucket.passed(5, 0)
    bucket.cut(0, 1, 1)
    for (let ms = 0; ms <= 120_000; ms += 500) wantedRates(bucket, [ms])
    expect([bucket.rate(120_000), bucket.perSecond(120_000)]).toEqual([500, 500])
  })

  it('does not grow, and saves nothing up, a second time for the same time', () => {
    const bucket = cutBucket()
    isClose(wantedRates(bucket, [1_100, 600, 1_100]), [17.2, 17.2, 17.2])
  })

  it('is the value of the caller if nothing passed, and never below the minimum', () => {
    for (const [rateMin, atMost, rate] of [
      [1, 3, 3],
      [5, 3, 5],
    ] as const) {
      const bucket = createTokenBucket(undefined, { rateMin })
      bucket.cut(0, 1, atMost)
      expect(bucket.rate(0)).toBe(rate)
    }
    // A given limit below the minimum is kept.
    const given = createTokenBucket(2, { rateMin: 5 })
    given.cut(0, 1, 1)
    expect(given.rate(0)).toBe(2)
  })

  it('falls with each objection, and rises with units that pass beyond the limit', () => {
    const bucket = cutBucket()
    bucket.passed(12, 1_200)
    bucket.cut(1_300, 1, 1)
    expect(bucket.rate(1_300)).toBeCloseTo(9.6, 9)
    // Far more passed after all, half of which may have been saved up.
    bucket.passed(200, 2_400)
    expect(bucket.rate(2_400)).toBe(80)
    bucket.cut(4_000, 1, 30)
    expect(bucket.rate(4_000)).toBe(30)
  })
})

describe('the search for a limit after an uninformative objection', () => {
  it('doubles the rate every three quarters of a second, up to nine tenths of the refused rate', () => {
    isClose(wantedRates(searching(), [0, 375, 750, 1_500, 2_500]), [
      3.2,
      3.2 * Math.SQRT2,
      6.4,
      9.9,
      9.9 + 0.11,
    ])
  })

  it('doubles the rate at any time that it begins', () => {
    isClose(wantedRates(searching(100_000), [100_000, 100_750]), [3.2, 6.4])
  })

  it('starts again after five seconds if the endpoint refuses a request that was sent during the search', () => {
    const bucket = createTokenBucket()
    bucket.passed(4, 0)
    bucket.cut(0, 8, 5)
    expect(bucket.rate(6_000)).toBeCloseTo(3.2, 9)
    bucket.confirmed(6_000)
    isClose(wantedRates(bucket, [6_000, 6_750]), [3.2, 6.4])
    bucket.passed(6, 6_750)
    bucket.cut(7_000, 1, 5)
    // Ten in two seconds, of which four passed in the second before it began.
    expect(bucket.rate(7_000)).toBeCloseTo(0.8 * 5, 9)
  })

  it('approaches the limit then', () => {
    const bucket = searching()
    wantedRates(bucket, [1_000, 1_500])
    expect(bucket.isNearLimit(1_500)).toBe(true)
  })

  it('continues from its beginning if the next objection is uninformative as well', () => {
    const bucket = createTokenBucket()
    bucket.passed(4, 0)
    bucket.cut(0, 40, 5)
    wantedRates(bucket, [500])
    bucket.passed(4, 500)
    bucket.cut(500, 40, 5)
    expect(bucket.rate(500)).toBeCloseTo((0.8 * 8) / 1.5, 9)
    bucket.cut(900, 40, 5)
    expect(bucket.rate(900)).toBeCloseTo((0.8 * 8) / 1.9, 9)
  })

  it('is not started if nothing passed', () => {
    const bucket = createTokenBucket()
    bucket.cut(0, 8, 5)
    bucket.confirmed(0)
    expect(wantedRates(bucket, [500])[0]).toBeCloseTo(5 + 7 * 0.05 * 0.5, 9)
  })

  it('lasts five seconds', () => {
    const bucket = searching()
    expect(bucket.rate(4_900)).toBeCloseTo(3.2, 9)
    isClose(wantedRates(bucket, [4_999, 5_000]), [3.2 * 2 ** 0.132, 3.2 * 2 ** 0.132 + 11 * 0.05 * 0.001])
  })

  it('ends with four fifths of the units that passed per second in all of it, and in the second before', () => {
    const bucket = createTokenBucket()
    bucket.passed(4, 1_000)
    bucket.cut(1_000, 12, 5)
    bucket.confirmed(1_000)
    for (const [units, atMs] of [
      [4, 1_600],
      [6, 2_500],
      [4, 2_900],
    ] as const) {
      wantedRates(bucket, [atMs])
      bucket.passed(units, atMs)
    }
    bucket.cut(3_000, 4, 4)
    // 18 in three seconds, although there were 10 in the last one.
    expect(bucket.rate(3_000)).toBeCloseTo(0.8 * 6, 9)
  })

  it('uses small requests', () => {
    const bucket = createTokenBucket()
    bucket.passed(100, 0)
    bucket.cut(0, 400, 5)
    expect(bucket.portion(0)).toBe(4)
    bucket.wanted(100)
    expect(bucket.rate(100)).toBeCloseTo(80 * 2 ** (0.1 / 0.75), 9)
    expect(bucket.portion(100)).toBe(8)
  })

  it('is not started if the objection leaves little room above the units that passed', () => {
    for (const [refused, rate] of [
      [6, 3.2 + 9 * 0.05 * 0.75],
      [7, 6.4],
    ] as const) {
      const bucket = createTokenBucket()
      bucket.passed(4, 0)
      bucket.cut(0, refused, 5)
      bucket.confirmed(0)
      expect(wantedRates(bucket, [750])[0]).toBeCloseTo(rate, 9)
    }
  })
})

describe('the units that pass after an objection', () => {
  it('raise the rate only above the number known to pass, and above the refused number', () => {
    for (const [units, rate] of [
      [2, 16],
      [4, 16],
      [5, 20],
    ] as const) {
      const bucket = cutBucket()
      bucket.passed(units, 150)
      expect(bucket.rate(150)).toBeCloseTo(rate, 9)
    }
  })

  it('count fully within a second of it, and later up to the rate', () => {
    for (const [atMs, rate] of [
      [1_099, 24],
      [1_100, 16],
    ] as const) {
      const bucket = cutBucket()
      bucket.passed(30, atMs)
      expect(bucket.rate(atMs)).toBeCloseTo(rate, 9)
      expect(bucket.isNearLimit(atMs)).toBe(false)
    }
  })

  it('do not include refused units, in that second or after it', () => {
    const bucket = createTokenBucket(10)
    bucket.take(6, 0)
    bucket.refused(4, 0)
    bucket.take(7, 999)
    expect(bucket.portion(999)).toBe(1)
    bucket.take(2, 1_000)
    expect(bucket.portion(1_000)).toBe(1)
  })

  it('leave the remainder of the second to a request, if that is half of a request or more', () => {
    for (const [taken, portion] of [
      [14, 4],
      [21, 3],
      [22, 2],
      [23, 4],
    ] as const) {
      const bucket = cutBucket()
      bucket.take(taken, 100)
      expect(bucket.portion(100)).toBe(portion)
    }
  })
})

describe('the time at which units may leave', () => {
  it('is a time at which they may leave', () => {
    for (let rate = 3; rate < 200; rate++) {
      const bucket = createTokenBucket(rate)
      bucket.take(bucket.portion(0.1), 0.1)
      const atMs = bucket.availableAt(2, 0.1)
      expect(bucket.availableAt(2, atMs)).toBe(atMs)
    }
  })
})

describe('the tokens saved up for a large request', () => {
  it('remain if a smaller one leaves instead', () => {
    const bucket = createTokenBucket(10)
    bucket.take(2, 0)
    expect(bucket.availableAt(8, 0)).toBe(800)
    expect(bucket.availableAt(8, 800)).toBe(800)
    bucket.take(2, 800)
    expect(bucket.availableAt(6, 800)).toBe(800)
  })
})

describe('the history of a meter', () => {
  it('is proven up to nine tenths of the most units that passed in a second', () => {
    const bucket = createTokenBucket()
    bucket.passed(100, 0)
    expect(bucket.isProven(1, 999)).toBe(false)
    expect([bucket.isProven(90, 1_000), bucket.isProven(91, 1_000)]).toEqual([true, false])
    bucket.passed(10, 1_000)
    expect([bucket.isProven(80, 1_000), bucket.isProven(81, 1_000)]).toEqual([true, false])
    // At most the units to which the endpoint had not objected.
    bucket.cut(1_000, 1, 1)
    expect([bucket.isProven(9, 2_000), bucket.isProven(10, 2_000)]).toEqual([true, false])
  })

  it('covers the units that passed within a second', () => {
    const bucket = createTokenBucket()
    for (const [units, atMs] of [
      [1, 0],
      [2, 0.5],
      [4, 1],
      [8, 999],
    ] as const)
      bucket.passed(units, atMs)
    expect([999, 1_000, 1_001, 1_998, 1_999].map((ms) => bucket.passedLately(ms))).toEqual([15, 14, 8, 8, 0])
  })
})
