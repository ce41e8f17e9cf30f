import { describe, expect, it } from 'vitest'
import { cutBucket, isClose, wantedRates } from './bucket.fixture.js'
import { createTokenBucket, type TokenBucket } from './tokenBucket.js'

describe('an unconfirmed objection', () => {
  /** A bucket that passed 20 units in a second, and was refused one more at 100 ms. */
  function doubted(given?: number): TokenBucket {
    const bucket = createTokenBucket(given)
    bucket.passed(20, 0)
    bucket.cut(100, 1, 1)
    return bucket
  }

  it('cuts the rate, which doubles in three quarters of a second until there is no limit', () => {
    const bucket = doubted()
    isClose(wantedRates(bucket, [100, 850, 1_600, 2_350]), [16, 32, 64, 128])
    expect(bucket.isLimited).toBe(true)
    // At a hundred times the refused rate.
    wantedRates(bucket, [3_100, 3_850, 4_600])
    expect(bucket.isLimited).toBe(true)
    wantedRates(bucket, [5_350])
    expect(bucket.isLimited).toBe(false)
  })

  it('lets the rate double back to nine tenths of a given limit only', () => {
    isClose(wantedRates(doubted(50), [100, 850, 1_600, 2_600]), [16, 32, 45, 45.5])
  })

  it('lets the rate double however much later the demand returns', () => {
    const bucket = doubted()
    expect(bucket.rate(10_000)).toBe(16)
    isClose(wantedRates(bucket, [10_000, 10_750]), [16, 32])
  })

  /** This many units passed before a second objection: it sets a limit, or the rate keeps doubling. */
  function expectSecond(bucket: TokenBucket, units: number, isLimit: boolean): void {
    wantedRates(bucket, [850, 1_600, 2_350])
    bucket.passed(units, 6_000)
    bucket.cut(6_000, 1, 1)
    const [rate = 0] = wantedRates(bucket, [6_750])
    expect(rate).toBeCloseTo(isLimit ? 0.8 * units + 0.05 * units * 0.75 : 1.6 * units, 9)
  }

  it('counts if a second one agrees: as little passed', () => {
    expectSecond(doubted(), 30, true)
    expectSecond(doubted(), 31, false)
  })

  it('counts if no more than the expected units passed before the second one', () => {
    for (const [units, isLimit] of [
      [44, true],
      [45, false],
    ] as const) {
      const bucket = createTokenBucket()
      bucket.passed(20, 0)
      bucket.cut(100, 25, 1)
      expectSecond(bucket, units, isLimit)
    }
  })

  /** Ten more units were in flight when it objected, so it accepted 30 in a second. */
  function doubtedLate(): TokenBucket {
    const bucket = doubted()
    bucket.passed(10, 150)
    return bucket
  }

  it('measures the limit by all units in flight: a second one agrees with that', () => {
    expectSecond(doubtedLate(), 45, true)
    expectSecond(doubtedLate(), 46, false)
  })

  it('sets a limit by all units in flight if a second request of the same moment is refused too', () => {
    const bucket = doubtedLate()
    expect(bucket.rate(150)).toBeCloseTo(24, 9)
    bucket.confirmed(150)
    isClose(wantedRates(bucket, [150, 1_150]), [24, 24 + 30 * 0.05])
  })

  it('counts at once if nothing passes, and a batch was refused', () => {
    for (const [refused, rate] of [
      [3, 1 + 2 * 0.05 * 0.75],
      [2, 2],
    ] as const) {
      const bucket = createTokenBucket()
      bucket.cut(0, refused, 1)
      expect(wantedRates(bucket, [750])[0]).toBeCloseTo(rate, 9)
    }
  })

  it('does not count if less was requested than any endpoint accepts', () => {
    for (const [units, rate] of [
      [3, 10],
      [4, 5 + 5 * 0.01 * 0.75],
    ] as const) {
      const bucket = createTokenBucket(undefined, { rateMin: 5 })
      for (const atMs of [0, 6_000]) {
        bucket.passed(units, atMs)
        bucket.cut(atMs, 1, 1)
      }
      expect(wantedRates(bucket, [6_750])[0]).toBeCloseTo(rate, 9)
    }
  })

  it('is refuted if a quarter more than the refused rate passes: the rate doubles again', () => {
    for (const [units, rates] of [
      [74, [29.6, 29.6 + 37 * 0.05 * 0.75]],
      [75, [30, 60]],
    ] as const) {
      const bucket = cutBucket()
      bucket.rate(5_000)
      // Half of it may have been saved up. The rate is four fifths of the other half.
      bucket.passed(units, 5_000)
      isClose(wantedRates(bucket, [5_000, 5_750]), rates)
    }
  })

  it('has no further effect once it has counted', () => {
    const bucket = cutBucket()
    bucket.confirmed(200)
    expect(wantedRates(bucket, [1_100])[0]).toBeCloseTo(17.2, 9)
  })
})
