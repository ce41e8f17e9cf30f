import { expect, test } from 'vitest'
import { createAgreement, createBounds } from './readings.js'

const reading = (latest: number, pending: number, head: number, atMs: number) => ({
  latest,
  pending,
  head,
  atMs,
})

test('agrees after 2 s for readings at different blocks, and after 3 s at the same block', () => {
  const agree = createAgreement()
  expect(agree(reading(7, 7, 1, 0))).toBe(false)
  expect(agree(reading(7, 7, 1, 2_999))).toBe(false)
  expect(agree(reading(7, 7, 1, 3_000))).toBe(true)
  expect(createAgreement()(reading(7, 7, 1, 9_000))).toBe(false)
  const fast = createAgreement()
  for (let block = 0; block < 10; block++) expect(fast(reading(7, 7, block, block * 200))).toBe(false)
  expect(fast(reading(7, 7, 10, 2_000))).toBe(true)
})

test('starts again after a different reading', () => {
  const agree = createAgreement()
  agree(reading(7, 7, 1, 0))
  expect(agree(reading(8, 8, 2, 1_000))).toBe(false)
  expect(agree(reading(7, 7, 3, 2_000))).toBe(false)
  expect(agree(reading(7, 7, 4, 3_999))).toBe(false)
  expect(agree(reading(7, 7, 5, 4_000))).toBe(true)
})

test('believes an unchanged `pending` above `latest` after 15 s, however many blocks go by', () => {
  const agree = createAgreement()
  agree(reading(7, 9, 1, 0))
  expect(agree(reading(7, 9, 8, 14_999))).toBe(false)
  expect(agree(reading(7, 9, 8, 15_000))).toBe(true)
})

test('confirms bounds after 2 s, at any number of blocks, including all readings in between', () => {
  const confirm = createBounds()
  expect(confirm(reading(7, 107, 1, 0))).toBeUndefined()
  expect(confirm(reading(7, 7, 1, 1_999))).toBeUndefined()
  expect(confirm(reading(7, 50, 1, 2_000))).toEqual({ min: 7, max: 107 })
  expect(confirm(reading(7, 8, 12, 3_999))).toBeUndefined()
  expect(confirm(reading(7, 9, 12, 4_000))).toEqual({ min: 8, max: 50 })
})
