import { expect, test } from 'vitest'
import { createTokenBucket } from './tokenBucket.js'

/** A search that ends at 2,000 ms: 18 units passed in its 3 s, 12 of them in the last one. */
function searched() {
  const bucket = createTokenBucket()
  bucket.passed(4, 10)
  bucket.cut(10, 8, 5)
  for (const [units, atMs] of [
    [2, 600],
    [4, 1_200],
    [4, 1_500],
    [4, 1_800],
  ] as const) {
    bucket.wanted(atMs)
    bucket.passed(units, atMs)
  }
  bucket.cut(2_000, 4, 4)
  return bucket
}

test('a search concludes less from its last second than from all of it, since that may have been saved up', () => {
  expect(searched().rate(2_000)).toBeLessThanOrEqual(0.9 * 6.1)
})

test('units in flight at the end of a search count like earlier ones, since they may have been saved up too', () => {
  const bucket = searched()
  bucket.passed(4, 2_010)
  expect(bucket.rate(2_010)).toBeGreaterThan(6)
  expect(bucket.rate(2_010)).toBeLessThan(8)
})

test('units in flight at the objection raise the rate to four fifths of all units that passed', () => {
  const bucket = createTokenBucket()
  bucket.passed(20, 900)
  bucket.cut(1_000, 1, 1)
  expect(bucket.rate(1_000)).toBe(16)
  for (const units of [1, 4, 5]) bucket.passed(units, 1_050)
  expect(bucket.rate(1_050)).toBeCloseTo(24)
})

test('units that have to leave together are saved up, beyond the usual burst', () => {
  const bucket = createTokenBucket(10)
  bucket.take(bucket.portion(0), 0)
  expect(bucket.portion(0)).toBe(2)
  expect(bucket.perSecond(0)).toBe(10)
  const atMs = bucket.availableAt(8, 0)
  expect(atMs).toBeGreaterThanOrEqual(800)
  expect(bucket.availableAt(8, atMs)).toBe(atMs)
  bucket.take(8, atMs)
  expect(bucket.availableAt(2, atMs)).toBeGreaterThan(atMs)
})

test('a smaller request uses the remainder of a second', () => {
  // Four times 5 in a second, and 3 more.
  const bucket = createTokenBucket(23)
  const takenAtMs: [units: number, atMs: number][] = []
  for (let nowMs = 0; nowMs < 2_000; nowMs++) {
    const units = bucket.portion(nowMs)
    if (bucket.availableAt(units, nowMs) > nowMs) continue
    bucket.take(units, nowMs)
    takenAtMs.push([units, nowMs])
  }
  const inSecond = (fromMs: number) =>
    takenAtMs.reduce((sum, [units, atMs]) => sum + (atMs >= fromMs && atMs < fromMs + 1_000 ? units : 0), 0)
  expect(inSecond(0)).toBe(23)
  for (let fromMs = 0; fromMs <= 1_000; fromMs++) expect(inSecond(fromMs)).toBeLessThanOrEqual(23)
  expect(takenAtMs.map(([units]) => units)).toContain(3)
})
