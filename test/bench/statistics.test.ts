import { expect, test } from 'vitest'
import { percentile, rounded } from '../support/statistics.js'

test('a percentile is a measured value, for any order of the values', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index)
  expect(percentile(values, 0.5)).toBe(50)
  expect(percentile(values, 0.99)).toBe(99)
  expect(percentile(values, 1)).toBe(100)
  expect(percentile([7], 0.99)).toBe(7)
  expect(percentile([1, 2], 0.5)).toBe(1)
})

test('no values have no percentile', () => {
  expect(percentile([], 0.5)).toBeUndefined()
})

test('the given values keep their order', () => {
  const values = [3, 1, 2]
  percentile(values, 0.5)
  expect(values).toEqual([3, 1, 2])
})

test('rounding keeps the given number of digits', () => {
  expect(rounded(1.23456, 3)).toBe(1.235)
  expect(rounded(1_234.5, 0)).toBe(1_235)
})
