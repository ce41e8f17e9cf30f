import { describe, expect, it } from 'vitest'
import { type ByHand, byHand, standAt } from './byHand.fixture.js'

/** The missing nonce after a count that was requested and read at this time. */
function missingAt(lane: ByHand, ms: number, count: number): number | undefined {
  lane.at(ms)
  lane.count(count)
  return lane.delivery.status.missing
}

describe('a count that was read before it was known to include the pool', () => {
  it('acknowledges its nonces once that is known', () => {
    const lane = byHand({ countsMempool: undefined, gapBudget: 64 })
    lane.offer(0, 10)
    lane.taken(lane.sends(), 4)
    lane.delivery.know({ countsMempool: true })
    expect(lane.delivery.status.acknowledgedTo).toBe(4)
  })
})

describe('a count that lacks a nonce', () => {
  it('proves a loss together with another one, requested after it and at least the lag of counts later', () => {
    const stands = (readings: readonly (readonly [askedAtMs: number, atMs: number])[]) => {
      const lane = byHand({ countsMempool: true, gapBudget: 64 })
      lane.offer(0, 2)
      lane.taken(lane.sends())
      for (const [askedAtMs, atMs] of readings) {
        lane.at(atMs)
        lane.count(0, askedAtMs)
      }
      return lane.delivery.status.missing
    }
    expect(
      stands([
        [10, 10],
        [9, 30],
      ]),
    ).toBeUndefined()
    expect(
      stands([
        [10, 10],
        [10, 30],
      ]),
    ).toBe(0)
    expect(
      stands([
        [10, 10],
        [12, 12],
      ]),
    ).toBeUndefined()
    expect(
      stands([
        [10, 10],
        [12, 15],
      ]),
    ).toBe(0)
    // Requested at the moment of the answer.
    expect(
      stands([
        [0, 0],
        [10, 10],
      ]),
    ).toBe(0)
  })

  it('decides a request without an answer, if it was requested after the end of the request', () => {
    for (const [askedAtMs, missing] of [
      [40, undefined],
      [50, 0],
    ] as const) {
      const lane = byHand({ countsMempool: true, gapBudget: 64 })
      lane.offer(0, 2)
      const { request } = lane.sends()
      lane.at(50)
      lane.end(request, { end: 'failed' })
      lane.at(60)
      lane.count(0, askedAtMs)
      expect(lane.delivery.status.missing).toBe(missing)
    }
  })

  it('inside an overdue request proves a loss only the second time, since the node is working on it', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 64 })
    lane.offer(0, 4)
    lane.sends()
    expect([2_000, 2_010, 2_020].map((ms) => missingAt(lane, ms, 1))).toEqual([undefined, undefined, 1])
  })

  it('carried by a request is the first of two that agree, although a later requested one came before it', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 64 })
    lane.offer(0, 2)
    const sent = lane.sends()
    lane.at(10)
    lane.count(0, 5)
    lane.at(500)
    lane.taken(sent, 0)
    expect(missingAt(lane, 510, 0)).toBe(0)
  })

  it('proven late by bytes that the pool knows is awaited for twice as long, and its loss is undone', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 64 })
    lane.offer(0, 2)
    lane.at(100)
    lane.taken(lane.sends())
    standAt(lane, 0, 110)
    expect(lane.delivery.status).toMatchObject({ missing: 0, window: 32 })
    const { request, nonces } = lane.sends()
    lane.at(130)
    lane.end(request, { end: 'answers', answers: nonces.map(() => ({ kind: 'taken', isKnown: true })) })
    expect(lane.delivery.status).toMatchObject({ missing: undefined, window: 64 })
    const missing = [140, 160, 179, 180].map((ms) => missingAt(lane, ms, 0))
    expect(missing).toEqual([undefined, undefined, undefined, 0])
  })

  it('without an answer is requested again after a second, then after twice as long each time', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 64 })
    expect(lane.next()).toEqual({ do: 'wait', untilMs: undefined })
    lane.offer(0, 2)
    const { request } = lane.sends()
    lane.end(request, { end: 'failed' })
    const askedMs: number[] = []
    for (let ms = 0; ms < 8_000; ms += 100) {
      lane.at(ms)
      if (lane.next().do === 'count') askedMs.push(ms)
    }
    expect(askedMs).toEqual([0, 1_000, 3_000, 7_000])
  })

  it('requested at the moment of the last answer is not requested again', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 64 })
    lane.offer(0, 2)
    const { request } = lane.sends()
    lane.end(request, { end: 'answers', answers: [{ kind: 'refused' }, { kind: 'taken' }] })
    expect(lane.next()).toEqual({ do: 'wait', untilMs: 5 })
    lane.count(0)
    expect(lane.next()).toEqual({ do: 'wait', untilMs: undefined })
  })

  it('is not requested while an open request carries a count with the same information', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 64 })
    lane.offer(0, 2)
    lane.taken(lane.sends(), 2)
    lane.at(2_000)
    lane.refresh(0, 0, true)
    lane.at(3_990)
    lane.offer(2, 3)
    const sent = lane.sends()
    lane.at(4_000)
    lane.refresh(0, 0, true)
    expect(lane.next().do).toBe('wait')
    lane.taken(sent)
    expect(lane.next()).toEqual({ do: 'count' })
  })
})

describe('a count that acknowledges nonces which blocks lack', () => {
  it.each([
    { blockMs: 200, askedMs: 2_000 },
    { blockMs: 2_000, askedMs: 4_000 },
    { blockMs: 12_000, askedMs: 24_000 },
  ])('is in doubt after two blocks and 2 s, on blocks of $blockMs ms', ({ blockMs, askedMs }) => {
    const lane = byHand({ countsMempool: true, gapBudget: 64 })
    lane.offer(0, 2)
    lane.taken(lane.sends(), 2)
    let nowMs = 0
    while (lane.next().do !== 'count') {
      nowMs += blockMs
      lane.at(nowMs)
      lane.refresh(0, 0, true)
    }
    expect(nowMs).toBe(askedMs)
  })

  it('is no longer believed after the same time if counts do not include the pool', () => {
    for (const blockMs of [200, 2_000, 12_000]) {
      const lane = byHand({ countsMempool: undefined, gapBudget: 64 })
      lane.offer(0, 2)
      lane.taken(lane.sends(), 2)
      let nowMs = 0
      while (lane.delivery.status.acknowledgedTo > 0) {
        nowMs += blockMs
        lane.at(nowMs)
        lane.refresh(0, 0, true)
      }
      expect(nowMs).toBe(Math.max(2_000, 2 * blockMs))
    }
  })
})
