import { describe, expect, it } from 'vitest'
import { byHand, GETH, NEVER, range, SEQUENCER, SIZE } from './byHand.fixture.js'
import type { SendAnswer } from './settle.js'

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

describe('a partly granted request', () => {
  it('holds no more calls than granted, although the window is full and waits for a count', () => {
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

  it('holds a count if that is a small part of it, or if all waiting nonces go with it', () => {
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

  it('holds no count if the endpoint accepts a single call', () => {
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

  it('with new bytes go at once, all of them, whatever room the pool has', () => {
    const lane = byHand(GETH)
    lane.offer(0, 4)
    lane.taken(lane.sends(), 4)
    lane.delivery.know({ accountMax: 2 })
    lane.offer(2, 4)
    expect(lane.sends().nonces).toEqual([2, 3])
  })

  it('are not sent above one whose arrival is unknown, or which waits for other bytes', () => {
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

  it('go above a withdrawn one by as many as the endpoint keeps', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 4 })
    lane.offer(0, 7)
    const { request, nonces } = lane.sends()
    lane.end(request, { end: 'answers', answers: nonces.map(() => LIMITED) })
    lane.delivery.withdraw(0)
    expect(lane.sends().nonces).toEqual([1, 2, 3, 4])
  })

  /**
   * Sends two or three nonces with these answers. Then enough blocks come for another trial of the pool
   * bound.
   */
  function poolAfterBlocks(answers: readonly SendAnswer[]): number {
    const lane = byHand(GETH)
    lane.offer(0, answers.length)
    lane.end(lane.sends().request, { end: 'answers', answers })
    for (let block = 1; block <= 4; block++) {
      lane.at(block * 3_000)
      expect(lane.next().do).not.toBe('send')
      lane.refresh(0, 0, true)
    }
    return lane.delivery.status.pool
  }

  it('raise the pool bound if that holds them back, but not if a lower nonce does', () => {
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

describe('an endpoint that keeps exactly one window above a missing nonce', () => {
  it('receives new nonces in several requests side by side', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 1_000 }, { windowStart: 1_000, batchStart: 1_000 })
    lane.offer(0, 750)
    expect([lane.sends(), lane.sends()].map(({ nonces }) => nonces.length)).toEqual([188, 188])
  })
})
