import { describe, expect, it } from 'vitest'
import { cutBucket, isClose, wantedRates } from './bucket.fixture.js'
import { createTokenBucket, type TokenBucket } from './tokenBucket.js'

describe('an objection that no other confirms', () => {
  /** It took 20 units in a second, and objected to one more at 100 ms. */
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
    // At a hundred times what was too much.
    wantedRates(bucket, [3_100, 3_850, 4_600])
    expect(bucket.isLimited).toBe(true)
    wantedRates(bucket, [5_350])
    expect(bucket.isLimited).toBe(false)
  })

  it('lets the rate double back to nine tenths of a given limit alone', () => {
    isClose(wantedRates(doubted(50), [100, 850, 1_600, 2_600]), [16, 32, 45, 45.5])
  })

  it('lets the rate double however long after it more is wanted', () => {
    const bucket = doubted()
    expect(bucket.rate(10_000)).toBe(16)
    isClose(wantedRates(bucket, [10_000, 10_750]), [16, 32])
  })

  /** So many units went through before a second objection: it makes a limit, or the rate doubles on. */
  function expectSecond(bucket: TokenBucket, units: number, isLimit: boolean): void {
    wantedRates(bucket, [850, 1_600, 2_350])
    bucket.passed(units, 6_000)
    bucket.cut(6_000, 1, 1)
    const [rate = 0] = wantedRates(bucket, [6_750])
    expect(rate).toBeCloseTo(isLimit ? 0.8 * units + 0.05 * units * 0.75 : 1.6 * units, 9)
  }

  it('counts where a second one agrees: as little went through', () => {
    expectSecond(doubted(), 30, true)
    expectSecond(doubted(), 31, false)
  })

  it('counts where what it had left to be expected went through before the second one', () => {
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

  /** Ten more units were on their way when it objected, so that it took 30 in a second. */
  function doubtedLate(): TokenBucket {
    const bucket = doubted()
    bucket.passed(10, 150)
    return bucket
  }

  it('says of the limit what went through with all that was on its way: a second one agrees with that', () => {
    expectSecond(doubtedLate(), 45, true)
    expectSecond(doubtedLate(), 46, false)
  })

  it('makes a limit of all that was on its way, where another request of that time is refused as well', () => {
    const bucket = doubtedLate()
    expect(bucket.rate(150)).toBeCloseTo(24, 9)
    bucket.confirmed(150)
    isClose(wantedRates(bucket, [150, 1_150]), [24, 24 + 30 * 0.05])
  })

  it('counts at once where nothing goes through, and a batch was refused', () => {
    for (const [refused, rate] of [
      [3, 1 + 2 * 0.05 * 0.75],
      [2, 2],
    ] as const) {
      const bucket = createTokenBucket()
      bucket.cut(0, refused, 1)
      expect(wantedRates(bucket, [750])[0]).toBeCloseTo(rate, 9)
    }
  })

  it('does not count where less was asked for than any endpoint takes', () => {
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

  it('is refuted where a quarter more than what was too much goes through: the rate doubles again', () => {
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

  it('says nothing more once it has counted', () => {
    const bucket = cutBucket()
    bucket.confirmed(200)
    expect(wantedRates(bucket, [1_100])[0]).toBeCloseTo(17.2, 9)
  })
})
