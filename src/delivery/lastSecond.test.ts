import { expect, test } from 'vitest'
import { createLastSecond } from './lastSecond.js'

test('units that do not count after all are taken from the moment at which they were added', () => {
  const last = createLastSecond()
  last.add(6, 0)
  last.add(4, 500)
  last.remove(4, 500)
  expect([last.sum(999), last.sum(1_000)]).toEqual([6, 0])
})

test('units of a moment that is a second ago take nothing away from those that were added since', () => {
  const last = createLastSecond()
  last.add(4, 0)
  last.add(6, 500)
  expect(last.sum(1_000)).toBe(6)
  last.remove(4, 0)
  expect(last.sum(1_000)).toBe(6)
})

test('room is there a second after as many units as are too much', () => {
  const last = createLastSecond()
  for (const [units, atMs] of [
    [2, 0],
    [3, 0],
    [4, 500],
  ] as const)
    last.add(units, atMs)
  expect([9, 8, 4, 3, 0].map((units) => last.roomAt(units, 600))).toEqual([600, 1_000, 1_000, 1_500, 1_500])
})
