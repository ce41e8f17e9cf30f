import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBatchSize } from './batchSize.js'

describe('the batch size', () => {
  it('doubles with each request that fills it, up to its maximum', () => {
    const batch = createBatchSize({ start: 128, max: 1_000 })
    batch.answered(10)
    expect(batch.size).toBe(128)
    const sizes = Array.from({ length: 4 }, () => {
      batch.answered(batch.size)
      return batch.size
    })
    expect(sizes).toEqual([256, 512, 1_000, 1_000])
  })

  it('is halved when a batch is refused, and does not come back to the size that was', () => {
    const batch = createBatchSize({ start: 128, max: 1_000 })
    batch.refused(100)
    expect(batch.size).toBe(50)
    expect(batch.isTrial).toBe(true)
    batch.answered(50)
    expect(batch.isTrial).toBe(false)
    expect(batch.size).toBe(99)
    batch.answered(99)
    expect(batch.size).toBe(99)
  })

  it('takes the second failure of a size for a refusal, and one of a single call for something else', () => {
    const batch = createBatchSize({ start: 128, max: 1_000 })
    batch.failed(128)
    expect(batch.size).toBe(128)
    batch.failed(128)
    expect(batch.size).toBe(64)
    batch.answered(64)
    expect(batch.size).toBe(127)
    batch.failed(1)
    batch.answered(1)
    batch.answered(2)
    batch.answered(4)
    expect(batch.size).toBe(8)
  })

  it('tries more again after some full requests, where only silence spoke against it', () => {
    const batch = createBatchSize({ start: 8, max: 1_000 })
    batch.failed(8)
    batch.failed(8)
    for (let request = 0; request < 18; request++) batch.answered(batch.size)
    expect(batch.size).toBeGreaterThan(8)
  })

  it.each(['refused', 'failed'] as const)('finds any limit of an endpoint that says so by %s', (how) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), (limit) => {
        const batch = createBatchSize({ start: 128, max: 1_000 })
        let accepted = 0
        for (let request = 0; request < 60; request++) {
          const { size } = batch
          if (size > limit) batch[how](size)
          else {
            batch.answered(size)
            accepted += size
          }
        }
        expect(accepted).toBeGreaterThanOrEqual(20 * Math.ceil(limit / 2))
        expect(batch.size).toBeGreaterThanOrEqual(1)
      }),
    )
  })
})
