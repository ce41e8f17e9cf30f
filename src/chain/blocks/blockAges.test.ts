import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBlockAges } from './blockAges.js'

test('a block is old once the age has passed since it was added', () => {
  const ages = createBlockAges(2_000)
  ages.add(7, 1_000)
  expect(ages.oldUpTo(2_999)).toBe(-1)
  expect(ages.oldUpTo(3_000)).toBe(7)
})

test('no block is reported before its age, and each is reported no later than a 64th of the age', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(gaps, (gapsMs) => {
      const ages = createBlockAges(2_000)
      let nowMs = 0
      const addedAtMs: number[] = []
      for (const gapMs of gapsMs) {
        nowMs += gapMs
        ages.add(addedAtMs.length, nowMs)
        addedAtMs.push(nowMs)
        const old = ages.oldUpTo(nowMs)
        const olderThan = (ageMs: number) => addedAtMs.findLastIndex((atMs) => nowMs - atMs >= ageMs)
        expect(old).toBeLessThanOrEqual(olderThan(2_000))
        expect(old).toBeGreaterThanOrEqual(olderThan(2_000 + 2_000 / 64))
      }
    }),
  )
})

test('an old block that is added late is old at once', () => {
  const ages = createBlockAges(2_000)
  ages.add(100, 10_000)
  ages.add(40, 1_000)
  expect(ages.oldUpTo(10_000)).toBe(40)
})

test('a block that left is not old, and its replacement becomes old by its own time', () => {
  const ages = createBlockAges(2_000)
  for (const number of [1, 2, 3]) ages.add(number, number * 1_000)
  expect(ages.oldUpTo(5_000)).toBe(3)
  ages.left({ number: 2 })
  expect(ages.oldUpTo(5_000)).toBe(1)
  ages.add(2, 5_000)
  expect(ages.oldUpTo(6_999)).toBe(1)
  expect(ages.oldUpTo(7_000)).toBe(2)
})
