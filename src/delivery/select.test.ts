import { describe, expect, it } from 'vitest'
import type { SendAnswer } from './answer.js'
import { byHand, GETH, NEVER, range, SEQUENCER, SIZE } from './byHand.fixture.js'

const TAKEN: SendAnswer = { kind: 'taken' }
const LIMITED: SendAnswer = { kind: 'limited' }
const UNANSWERED: SendAnswer = { kind: 'unanswered' }
const FULL: SendAnswer = { kind: 'full' }

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

  it('are not sent above one of which nobody knows whether it arrived, or which waits for other bytes', () => {
    for (const [answer, next] of [
      [UNANSWERED, 'count'],
      [{ kind: 'refused' }, 'wait'],
    ] as const) {
      const lane = byHand({ countsMempool: true, gapBudget: 4 })
      lane.offer(0, 3)
      lane.end(lane.sends().request, { end: 'answers', answers: [answer, LIMITED, LIMITED] })
      expect(lane.next().do).toBe(next)
      if (next === 'count') lane.count(0)
      else lane.delivery.offer(0, SIZE)
      expect(lane.sends().nonces).toEqual([0, 1, 2])
    }
  })

  it('overtake an open request by as many as the endpoint keeps above a missing nonce', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 2 })
    lane.offer(0, 1)
    lane.sends()
    lane.offer(1, 3)
    const { request, nonces } = lane.sends()
    expect(nonces).toEqual([1, 2])
    lane.end(request, { end: 'answers', answers: [LIMITED, LIMITED] })
    expect(lane.sends().nonces).toEqual([1, 2])
  })

  it('go above one that is not sent from here any more by as many as the endpoint keeps', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 4 })
    lane.offer(0, 7)
    const { request, nonces } = lane.sends()
    lane.end(request, { end: 'answers', answers: nonces.map(() => LIMITED) })
    lane.delivery.withdraw(0)
    expect(lane.sends().nonces).toEqual([1, 2, 3, 4])
  })

  /** Two nonces or three, with these answers; then so many blocks come that a bound of the pool may be tried again. */
  function poolAfterBlocks(answers: readonly SendAnswer[]): number {
    const lane = byHand(GETH)
    lane.offer(0, answers.length)
    lane.end(lane.sends().request, { end: 'answers', answers })
    for (let block = 1; block <= 4; block++) {
      lane.at(block * 1_000)
      expect(lane.next().do).not.toBe('send')
      lane.refresh(0, 0, true)
    }
    return lane.delivery.status.pool
  }

  it('raise the bound of the pool where that holds them back, and not where a lower nonce does', () => {
    expect(poolAfterBlocks([TAKEN, FULL])).toBe(2)
    expect(poolAfterBlocks([UNANSWERED, LIMITED, FULL])).toBe(2)
  })
})

describe('new nonces above one that was never offered', () => {
  it('are as many as the endpoint keeps', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 2 })
    lane.offer(0, 2)
    lane.offer(3, 6)
    expect(lane.sends().nonces).toEqual([0, 1, 3, 4])
  })
})

describe('an endpoint that keeps exactly as many above a missing nonce as the window lets out', () => {
  it('is sent new nonces in several requests side by side', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 1_000 }, { windowStart: 1_000, batchStart: 1_000 })
    lane.offer(0, 750)
    expect([lane.sends(), lane.sends()].map(({ nonces }) => nonces.length)).toEqual([188, 188])
  })
})
