import { describe, expect, it } from 'vitest'
import { createPoolBound, type PoolBound } from './poolBound.js'

/** A pool bound after a first block at time 0, which is followed by blocks each `blockMs`. */
function openPool(blockMs = 2_000) {
  const pool = createPoolBound()
  let atMs = 0
  pool.sealed(false, 100, atMs)
  const blocks = (count: number, isBound = true, batch = 100) => {
    for (let block = 0; block < count; block++) {
      atMs += blockMs
      pool.sealed(isBound, batch, atMs)
    }
    return pool.size
  }
  return Object.assign(pool, { blocks })
}

type Pool = PoolBound & { blocks(count: number, isBound?: boolean): number }

const blocks = (pool: Pool, count: number, isBound = true) => pool.blocks(count, isBound)

describe('the pool bound', () => {
  it('starts at 4,000, and grows only while it holds nonces back', () => {
    const pool = openPool()
    expect(pool.size).toBe(4_000)
    expect(blocks(pool, 10, false)).toBe(4_000)
    expect(blocks(pool, 2)).toBe(4_128)
  })

  it('halves on a drop, and grows by a batch a block up to the number that the pool held', () => {
    const pool = openPool()
    blocks(pool, 20)
    pool.loss(5_120)
    expect(pool.size).toBe(2_640)
    expect(blocks(pool, 10)).toBe(3_640)
    expect(blocks(pool, 16)).toBe(5_120)
  })

  it('tries a failed size again by a small step, after twice as many blocks each time', () => {
    const pool = openPool()
    pool.limit(16)
    expect(blocks(pool, 3)).toBe(16)
    expect(blocks(pool, 1)).toBe(24)
    pool.limit(16)
    expect(blocks(pool, 7)).toBe(16)
    expect(blocks(pool, 1)).toBe(24)
  })

  it.each([
    { blockMs: 200, waitedMs: [8_000, 16_000, 32_000, 64_000, 128_000, 128_000] },
    { blockMs: 2_000, waitedMs: [8_000, 16_000, 32_000, 64_000, 128_000, 128_000] },
    // Four blocks have to show the last step.
    { blockMs: 12_000, waitedMs: [48_000, 48_000, 48_000, 72_000, 132_000, 132_000] },
  ])(
    'waits by time for the next trial of a failed size, on blocks of $blockMs ms',
    ({ blockMs, waitedMs }) => {
      const pool = openPool(blockMs)
      const waited = waitedMs.map(() => {
        pool.limit(16)
        let ms = 0
        for (; pool.size === 16; ms += blockMs) blocks(pool, 1)
        return ms
      })
      expect(waited).toEqual(waitedMs)
    },
  )

  it('does not count a repetition of the same failure as a failed trial', () => {
    const pool = openPool()
    for (let times = 0; times < 5; times++) pool.limit(1)
    expect(blocks(pool, 3)).toBe(1)
    expect(blocks(pool, 1)).toBe(2)
  })

  it('grows faster once the pool held more than the failed size', () => {
    const pool = openPool()
    pool.limit(16)
    blocks(pool, 4)
    pool.holds(24)
    expect(blocks(pool, 2)).toBe(24 + 2 * 64)
  })

  it('continues in small steps as long as the pool has not held the whole tried size', () => {
    const pool = openPool()
    pool.limit(16)
    expect(blocks(pool, 4)).toBe(24)
    pool.holds(23)
    expect(blocks(pool, 3)).toBe(24)
    expect(blocks(pool, 1)).toBe(36)
  })

  it('attributes a single drop far below it to another reason', () => {
    const pool = openPool()
    pool.loss(3)
    expect(pool.size).toBe(2_000)
    expect(blocks(pool, 20)).toBe(3_999)
  })

  it('attributes a drop at half of it to the limit of the pool', () => {
    const pool = openPool()
    pool.loss(2_000)
    expect(blocks(pool, 3)).toBe(2_000)
    expect(blocks(pool, 1)).toBe(2_064)
  })

  it('waits no longer than before for a higher size after a successful trial', () => {
    const pool = openPool()
    pool.limit(16)
    blocks(pool, 4)
    pool.holds(24)
    pool.limit(24)
    expect(blocks(pool, 3)).toBe(24)
    expect(blocks(pool, 1)).toBe(36)
  })

  it('is never below 1', () => {
    const pool = openPool()
    pool.limit(0)
    expect(pool.size).toBe(1)
    pool.loss(0)
    expect(pool.size).toBe(1)
  })

  it('trusts the size that it was proven to hold, and no more after a drop', () => {
    const pool = openPool()
    pool.holds(4_500)
    expect(pool.proven).toBe(4_500)
    pool.loss(4_500)
    expect(pool.proven).toBe(2_000)
  })

  it('undoes one loss, and nothing of a limit that was known before it', () => {
    const pool = openPool()
    const { losses } = pool
    pool.undo(losses - 1)
    pool.loss(3_000)
    expect(pool.proven).toBe(2_000)
    pool.undo(losses)
    expect([pool.size, pool.proven]).toEqual([4_000, 4_000])
    pool.undo(losses)
    expect(pool.size).toBe(4_000)
    pool.limit(8)
    pool.undo(pool.losses)
    expect(pool.size).toBe(8)
    const before = pool.losses
    pool.loss(7)
    pool.limit(3)
    pool.undo(before)
    expect(pool.size).toBe(3)
  })
})
