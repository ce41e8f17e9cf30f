import { expect } from 'vitest'
import { createTokenBucket, type TokenBucket } from './tokenBucket.js'

/**
 * A bucket that passed 20 units in a second. Then the endpoint refused 5 more at 100 ms, and another request
 * of that time as a whole: its limit is at most 24.
 */
export function cutBucket(options?: { rateMin?: number }): TokenBucket {
  const bucket = createTokenBucket(undefined, options)
  bucket.passed(20, 0)
  bucket.cut(100, 5, 1)
  bucket.confirmed(100)
  return bucket
}

/** The rate at each time, with unmet demand at all of them. */
export function wantedRates(bucket: TokenBucket, timesMs: readonly number[]): number[] {
  return timesMs.map((ms) => {
    bucket.wanted(ms)
    return bucket.rate(ms)
  })
}

export function isClose(rates: readonly number[], expected: readonly number[]): void {
  expect(rates).toHaveLength(expected.length)
  for (const [index, rate] of expected.entries()) expect(rates[index]).toBeCloseTo(rate, 9)
}
