import { expect } from 'vitest'
import { createTokenBucket, type TokenBucket } from './tokenBucket.js'

/** It took 20 units in a second, and objected to 5 more at 100 ms, and to others of that time: no more than 24 of them. */
export function cutBucket(options?: { rateMin?: number }): TokenBucket {
  const bucket = createTokenBucket(undefined, options)
  bucket.passed(20, 0)
  bucket.cut(100, 5, 1)
  bucket.confirmed(100)
  return bucket
}

/** The rate at each time, where more is wanted all the while. */
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
