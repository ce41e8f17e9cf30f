import { describe, expect, it } from 'vitest'
import { createGethPool, type GethPool } from './gethPool.fixture.js'

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

function addAll(pool: GethPool, account: string, nonces: readonly number[]): void {
  for (const nonce of nonces) pool.add(account, nonce)
  pool.reorganise()
}

describe('the model of geth’s pool', () => {
  it('counts its executable nonces, a moment after its answer', () => {
    const pool = createGethPool()
    expect(pool.add('a', 0)).toBe('added')
    expect(pool.count('a')).toBe(0)
    pool.reorganise()
    expect(pool.count('a')).toBe(1)
  })

  it('keeps 64 nonces of an account above a gap, the lowest ones, and promotes them when it is filled', () => {
    const pool = createGethPool()
    addAll(pool, 'a', range(1, 101))
    expect(pool.queued('a')).toEqual(range(1, 65))
    expect(pool.dropped).toBe(36)
    addAll(pool, 'a', [0])
    expect(pool.count('a')).toBe(65)
    expect(pool.queued('a')).toEqual([])
  })

  it('cuts the highest nonces of the largest account beyond 5,120 executable ones, without a gap', () => {
    const pool = createGethPool()
    addAll(pool, 'b', range(0, 16))
    addAll(pool, 'a', range(0, 5_200))
    expect(pool.count('a')).toBe(5_120 - 16)
    expect(pool.pending('b')).toHaveLength(16)
    expect(pool.dropped).toBe(5_216 - 5_120)
  })

  it('makes large accounts equal, and leaves 16 nonces to each', () => {
    const pool = createGethPool({ accountSlots: 16, globalSlots: 100, accountQueue: 64, globalQueue: 1_024 })
    addAll(pool, 'a', range(0, 90))
    addAll(pool, 'b', range(0, 70))
    expect(pool.count('a')).toBe(50)
    expect(pool.count('b')).toBe(50)
  })

  it('keeps 1,024 gapped transactions of all accounts, and drops the oldest ones', () => {
    const pool = createGethPool({ accountSlots: 16, globalSlots: 5_120, accountQueue: 64, globalQueue: 100 })
    addAll(pool, 'a', range(1, 61))
    addAll(pool, 'b', range(1, 61))
    expect(pool.queued('a')).toEqual(range(1, 41))
    expect(pool.queued('b')).toEqual(range(1, 61))
  })

  it('drops used nonces after a block, and counts the rest on', () => {
    const pool = createGethPool()
    addAll(pool, 'a', range(0, 10))
    pool.advance('a', 4)
    expect(pool.pending('a')).toEqual(range(4, 10))
    expect(pool.count('a')).toBe(10)
    expect(pool.add('a', 3)).toBe('low')
    expect(pool.add('a', 5)).toBe('known')
  })

  it('refuses another transaction of the same price when every slot is taken', () => {
    const pool = createGethPool({ accountSlots: 4, globalSlots: 10, accountQueue: 8, globalQueue: 4 })
    for (let nonce = 0; nonce < 14; nonce++) expect(pool.add('a', nonce)).toBe('added')
    expect(pool.add('a', 14)).toBe('underpriced')
  })
})
