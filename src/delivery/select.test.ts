import { describe, expect, it } from 'vitest'
import { byHand, range } from './byHand.fixture.js'

describe('a batch whose calls take effect in any order', () => {
  it.each([0, 4])('holds one nonce, and as many above it as the endpoint keeps: %d', (gapBudget) => {
    const lane = byHand({ countsMempool: true, gapBudget, batchInOrder: false })
    lane.offer(0, 10)
    expect(lane.sends().nonces).toEqual(range(0, 1 + gapBudget))
  })
})
