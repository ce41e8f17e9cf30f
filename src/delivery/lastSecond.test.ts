import { expect, test } from 'vitest'
import { createLastSecond } from './learntRate.js'

test('removes units from the moment at which they were added', () => {
  const last = createLastSecond()
  last.add(6, 0)
  last.add(4, 500)
  last.remove(4, 500)
  expect([last.sum(999), last.sum(1_000)]).toEqual([6, 0])
})

test('removes units that are a second old without an effect on later ones', () => {
  const last = createLastSecond()
  last.add(4, 0)
  last.add(6, 500)
  expect(last.sum(1_000)).toBe(6)
  last.remove(4, 0)
  expect(last.sum(1_000)).toBe(6)
})

test('has room again a second after the excess units', () => {
  const last = createLastSecond()
  for (const [units, atMs] of [
    [2, 0],
    [3, 0],
    [4, 500],
  ] as const)
    last.add(units, atMs)
  expect([9, 8, 4, 3, 0].map((units) => last.roomAt(units, 600))).toEqual([600, 1_000, 1_000, 1_500, 1_500])
})
