import { describe, expect, it } from 'vitest'
import { byHand, GETH, NEVER, range } from './byHand.fixture.js'

describe('a batch whose calls take effect in any order', () => {
  it.each([0, 4])('holds one nonce, and as many above it as the endpoint keeps: %d', (gapBudget) => {
    const lane = byHand({ countsMempool: true, gapBudget, batchInOrder: false })
    lane.offer(0, 10)
    expect(lane.sends().nonces).toEqual(range(0, 1 + gapBudget))
  })
})

describe('a request of which a part is granted', () => {
  it('holds no more calls than that, although the window is full and waits for a count', () => {
    for (const [calls, expected] of [
      [1, { nonces: [2], count: false }],
      [2, { nonces: [2], count: true }],
      [3, { nonces: [2, 3], count: true }],
      [4, { nonces: [2, 3], count: true }],
    ] as const) {
      const lane = byHand(GETH, { windowStart: 2 })
      lane.offer(0, 4)
      const first = lane.sends()
      expect(first.nonces).toEqual([0, 1])
      lane.taken(first)
      expect(lane.delivery.next({ nowMs: 0, grant: () => calls, below: NEVER })).toMatchObject(expected)
    }
  })
})
