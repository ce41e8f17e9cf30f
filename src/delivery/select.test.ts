import { describe, expect, it } from 'vitest'
import { byHand, GETH, NEVER, range, SEQUENCER, SIZE } from './byHand.fixture.js'

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

  it('holds a count where that is a small part of it, or all that waits goes with it', () => {
    for (const [offered, windowStart, calls, nonces, count] of [
      [40, 40, 9, 9, false],
      [40, 40, 10, 9, true],
      [5, 5, 4, 4, false],
      [5, 5, 5, 5, false],
      [5, 64, 6, 5, true],
    ] as const) {
      const lane = byHand(GETH, { windowStart })
      lane.offer(0, offered)
      const action = lane.delivery.next({ nowMs: 0, grant: () => calls, below: NEVER })
      expect(action).toMatchObject({ nonces: range(0, nonces), count })
    }
  })

  it('holds no count where the endpoint takes a single call', () => {
    for (const lane of [byHand({ ...GETH, batchMax: 1 }), byHand(GETH, { batchMax: 1 })]) {
      lane.offer(0, 3)
      expect(lane.next()).toMatchObject({ nonces: [0], count: false })
    }
  })
})

describe('nonces that the endpoint lacks', () => {
  it('are not sent above one whose bytes are not in the store', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 4)
    const { request, nonces } = lane.sends()
    lane.end(request, { end: 'answers', answers: nonces.map(() => ({ kind: 'limited' })) })
    const action = lane.delivery.next({ nowMs: 0, grant: () => NEVER, below: 2 })
    expect(action).toMatchObject({ do: 'send', kind: 'repair', nonces: [0, 1] })
  })

  it('are not sent above one that does not fit into the request', () => {
    const lane = byHand(SEQUENCER, { requestCharactersMax: 3 * SIZE })
    lane.offer(0, 3)
    const { request, nonces } = lane.sends()
    lane.delivery.offer(1, 3 * SIZE)
    lane.end(request, { end: 'answers', answers: nonces.map(() => ({ kind: 'limited' })) })
    expect(lane.sends().nonces).toEqual([0])
  })

  it('in their new bytes alone go at once, all of them, whatever the pool has room for', () => {
    const lane = byHand(GETH)
    lane.offer(0, 4)
    lane.taken(lane.sends(), 4)
    lane.delivery.know({ accountMax: 2 })
    lane.offer(2, 4)
    expect(lane.sends().nonces).toEqual([2, 3])
  })
})
