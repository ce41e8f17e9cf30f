import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BatchSize, createBatchSize } from './endpointLimits.js'

const fill = (batch: BatchSize, requests: number) => {
  for (let request = 0; request < requests; request++) batch.answered(batch.size)
}

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

  it('is halved when a batch is refused, and never returns to the refused size', () => {
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

  it('treats the second failure of a size as a refusal, unless a single call fails as well', () => {
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

  it('tries a larger size after sixteen full requests if only silence spoke against it, then after thirty-two', () => {
    const batch = createBatchSize({ start: 8, max: 8 })
    // Full requests at the maximum do not count: there was no silence.
    fill(batch, 40)
    const larger = createBatchSize({ start: 8, max: 1_000 })
    for (const each of [batch, larger]) {
      each.failed(8)
      expect(each.isTrial).toBe(true)
      each.failed(8)
      each.answered(4)
      fill(each, 15)
      expect(each.size).toBe(7)
      fill(each, 1)
    }
    expect([batch.size, larger.size]).toEqual([8, 14])
    larger.failed(14)
    expect(larger.size).toBe(7)
    fill(larger, 31)
    larger.answered(4)
    expect(larger.size).toBe(7)
    fill(larger, 1)
    expect(larger.size).toBe(14)
  })

  it('continues from an answered size, after any refusals and failures before', () => {
    const batch = createBatchSize({ start: 100, max: 1_000 })
    batch.refused(100)
    batch.answered(100)
    expect(batch.size).toBe(200)
    batch.failed(200)
    batch.answered(200)
    expect(batch.size).toBe(400)
    batch.failed(400)
    expect(batch.size).toBe(400)
    batch.failed(400)
    batch.failed(1)
    expect(batch.size).toBe(1)
    for (let request = 0; request < 9; request++) batch.answered(batch.size)
    expect(batch.size).toBe(512)
  })

  it('starts from a single call again if one got no answer', () => {
    const batch = createBatchSize({ start: 128, max: 1_000 })
    batch.failed(1)
    expect(batch.size).toBe(1)
    batch.answered(1)
    expect(batch.size).toBe(2)
  })

  it('treats the refusal of a single call as another problem', () => {
    const batch = createBatchSize({ start: 128, max: 1_000 })
    batch.refused(1)
    expect(batch.size).toBe(128)
  })

  it.each(['refused', 'failed'] as const)('finds any limit of an endpoint that signals it by %s', (how) => {
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
