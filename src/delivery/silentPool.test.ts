import { describe, expect, it } from 'vitest'
import { byHand, NEVER, range } from './byHand.fixture.js'
import type { SendAnswer } from './settle.js'
import type { EndpointTraits } from './state.js'

const TAKEN: SendAnswer = { kind: 'taken' }
const KNOWN: SendAnswer = { kind: 'taken', isKnown: true }
const BLOCK_MS = 4_000
const BLOCKS_MAX = 1_000

/**
 * Sends nonces to a pool. Returns the blocks until all are sealed, and the number of copies. The pool answers
 * each nonce with a hash, or with "already known", keeps `held` of them and drops the others. No count shows
 * its contents.
 */
function land(
  nonces: number,
  held: number | ((block: number) => number),
  {
    capacity = () => NEVER,
    traits = {},
  }: { capacity?: (block: number) => number; traits?: Partial<EndpointTraits> } = {},
) {
  const lane = byHand({ countsMempool: false, ...traits })
  lane.offer(0, nonces)
  let latest = 0
  let block = 0
  let copies = 0
  const pool = new Set<number>()
  while (latest < nonces && block < BLOCKS_MAX) {
    const limit = typeof held === 'number' ? held : held(block)
    for (let action = lane.next(); action.do === 'send'; action = lane.next()) {
      copies += action.nonces.length
      const answers = action.nonces.map((nonce) => (pool.has(nonce) ? KNOWN : TAKEN))
      for (const nonce of action.nonces) if (nonce < latest + limit) pool.add(nonce)
      lane.end(action.request, { end: 'answers', answers })
    }
    block++
    lane.at(block * BLOCK_MS)
    for (let room = capacity(block); room > 0 && pool.delete(latest); room--) latest++
    lane.refresh(latest, latest, true)
  }
  return { blocks: block, copies, pool: lane.delivery.status.pool }
}

describe('a pool that drops silently, without a count that shows it', () => {
  it.each([1, 2, 3, 7, 16, 40])(
    'receives no more than it keeps after it dropped the same nonce twice: %d',
    (held) => {
      const nonces = 60 * held
      for (const gapBudget of [undefined, 0, 64]) {
        const { blocks, copies } = land(nonces, held, { traits: { gapBudget } })
        const least = nonces / held
        expect(blocks).toBeLessThanOrEqual(2 * least)
        expect(copies).toBeLessThanOrEqual(2 * nonces + 1_000)
      }
    },
  )

  it('receives more again, block by block, once it keeps more', () => {
    const { blocks, pool } = land(4_000, (block) => (block < 40 ? 2 : NEVER))
    expect(pool).toBeGreaterThan(500)
    expect(blocks).toBeLessThan(150)
  })

  it('is not assumed to be small if blocks have little room: its transactions stay in it', () => {
    for (const room of [1, 3, 10]) {
      const { blocks } = land(300, NEVER, { capacity: () => room })
      expect(blocks).toBe(300 / room)
    }
  })

  it('is not assumed to be small if it knows the bytes: no block has room for them', () => {
    const { blocks, pool, copies } = land(300, NEVER, {
      capacity: (block) => (block > 120 ? NEVER : Number(block % 3 === 0)),
    })
    expect(pool).toBe(4_000)
    expect(blocks).toBeLessThanOrEqual(125)
    expect(copies).toBeLessThan(10_000)
  })

  it('is not judged by a nonce that never arrived', () => {
    const lane = byHand({ countsMempool: false })
    lane.offer(0, 10)
    const { pool } = lane.delivery.status
    for (let ms = 1; ms < 20; ms++) {
      const action = lane.next()
      if (action.do === 'send') lane.taken(action)
      lane.at(ms * BLOCK_MS)
      lane.refresh(0, 0, true)
    }
    expect(lane.delivery.status.pool).toBe(pool)
  })

  it('is not judged by a nonce whose request hangs', () => {
    const lane = byHand({ countsMempool: false })
    const { pool } = lane.delivery.status
    for (const first of [0, 2]) {
      lane.offer(first, first + 1)
      lane.taken(lane.sends())
      lane.offer(first + 1, first + 2)
      expect(lane.sends().nonces).toEqual([first + 1])
      for (const block of [1, 2, 3]) {
        lane.at((4 * first + block) * BLOCK_MS)
        lane.refresh(first + 1, first + 1, true)
      }
      lane.taken(lane.sends())
      lane.at((4 * first + 4) * BLOCK_MS)
      lane.refresh(first + 2, first + 2, true)
    }
    expect(lane.delivery.status.pool).toBe(pool)
  })

  it('keeps its bound for nonces that were above a missing one', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 2 })
    lane.offer(0, 6)
    lane.taken(lane.sends())
    const { pool } = lane.delivery.status
    const block = (number: number, latest: number) => {
      lane.at(number * BLOCK_MS)
      lane.refresh(latest, latest, true)
      const action = lane.next()
      if (action.do === 'send') lane.taken(action)
      return action.do === 'send' ? action.nonces : []
    }
    block(1, 1)
    block(2, 1)
    expect(block(3, 1)).toEqual(range(1, 2).concat(range(4, 6)))
    // The nonces that the pool was believed to keep above nonce 1 are gone as well, which proves nothing
    // about its size.
    block(4, 2)
    block(5, 2)
    block(6, 2)
    block(7, 3)
    expect(lane.delivery.status.pool).toBe(pool)
  })
})
