import { expect, test } from 'vitest'
import { createPauses } from './pauses.js'

const pausesOf = (maxMs = 4_000, paceMs = 200) => createPauses({ paceMs: () => paceMs, maxMs })

function next(
  pauses: ReturnType<typeof createPauses>,
  times: number,
  after: 'fruitless' | 'failed',
): number[] {
  return Array.from({ length: times }, () => {
    pauses[after]()
    return pauses.nextMs()
  })
}

test('pauses double with each failure, up to a bound, and an answer ends that', () => {
  const pauses = pausesOf()
  expect(pauses.nextMs()).toBe(200)
  expect(next(pauses, 6, 'failed')).toEqual([400, 800, 1_600, 3_200, 4_000, 4_000])
  expect(next(pauses, 1, 'fruitless')).toEqual([200])
})

test('answers that bring nothing change nothing at first, and slow it down in the end', () => {
  const pauses = pausesOf()
  expect(new Set(next(pauses, 25, 'fruitless'))).toEqual(new Set([200]))
  expect(next(pauses, 6, 'fruitless')).toEqual([400, 800, 1_600, 3_200, 4_000, 4_000])
  pauses.reset()
  expect(pauses.nextMs()).toBe(200)
})

test('a slow pace is not made faster by the bound', () => {
  expect(next(pausesOf(4_000, 9_000), 3, 'failed')).toEqual([9_000, 9_000, 9_000])
})
