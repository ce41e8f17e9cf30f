import { describe, expect, it } from 'vitest'
import { byHand, GETH, NEVER, range, SEQUENCER, SIZE, standAt } from './byHand.fixture.js'
import type { Demand } from './select.js'

describe('a count without progress', () => {
  it('holds new nonces back if the endpoint would not keep as many above a missing one', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 10)
    lane.taken(lane.sends(), 2)
    lane.offer(10, 12)
    expect(lane.next().do).toBe('wait')
    lane.at(10)
    lane.count(8)
    expect(lane.sends().nonces).toEqual([10, 11])
  })

  it('holds new nonces back if the pool may be full', () => {
    const lane = byHand(GETH, { poolStart: 8 })
    lane.offer(0, 20)
    lane.taken(lane.sends(), 8)
    lane.next()
    lane.refresh(0, 0, true)
    lane.taken(lane.sends(), 10)
    lane.offer(20, 21)
    expect(lane.next().do).toBe('wait')
    lane.at(10)
    lane.count(20)
    expect(lane.sends().nonces).toEqual([20])
  })

  it.each([0, 10])(
    'means that a pool as full as ever before dropped all nonces from there on: from nonce %d',
    (from) => {
      const lane = byHand(GETH, { poolStart: 4, floor: from })
      lane.offer(from, from + 10)
      lane.taken(lane.sends(), from + 4)
      lane.next()
      lane.refresh(from, from, true)
      lane.taken(lane.sends(), from + 4)
      standAt(lane, from + 4, 10)
      expect(lane.sends().nonces).toEqual(range(from + 4, from + 10))
    },
  )

  it('means that the endpoint kept nothing above a nonce that it should have kept', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 4)
    lane.taken(lane.sends(), 0)
    standAt(lane, 0, 10)
    const first = lane.sends()
    expect(first.nonces).toEqual([0])
    lane.taken(first, 1)
    standAt(lane, 1, 40)
    expect(lane.sends().nonces).toEqual([1, 2, 3])
  })

  it('halves the window, but not the pool bound, if the pool kept nothing above and took the next copy', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 4)
    lane.taken(lane.sends(), 0)
    standAt(lane, 0, 10)
    expect(lane.delivery.status).toMatchObject({ window: 32, pool: 4_000, missing: 0 })
    lane.taken(lane.sends(), 1)
    standAt(lane, 1, 40)
    expect(lane.delivery.status).toMatchObject({ window: 32, pool: 4_000, missing: 1 })
    expect(lane.sends().nonces).toEqual([1, 2, 3])
  })

  it('at the same nonce again does not bound a pool that held more of the account before a block', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 4)
    lane.taken(lane.sends(), 2)
    standAt(lane, 2, 10)
    lane.taken(lane.sends(), 2)
    lane.at(1_000)
    lane.refresh(1, 1, true)
    standAt(lane, 2, 1_010)
    expect(lane.delivery.status).toMatchObject({ pool: 4_000, missing: 2 })
  })

  it('at a nonce above a missing one bounds no pool, however many it held', () => {
    const lane = byHand(GETH, { poolStart: 4 })
    lane.offer(0, 10)
    lane.taken(lane.sends(), 2)
    lane.next()
    lane.refresh(0, 0, true)
    lane.taken(lane.sends(), 2)
    const { pool } = lane.delivery.status
    standAt(lane, 2, 10)
    const first = lane.sends()
    expect(first.nonces).toEqual([2])
    lane.taken(first, 4)
    standAt(lane, 4, 40)
    expect(lane.delivery.status).toMatchObject({ pool, missing: 4 })
  })

  it('does not treat a nonce as kept that was acknowledged since', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 4)
    lane.taken(lane.sends(), 0)
    standAt(lane, 0, 10)
    lane.taken(lane.sends(), 4)
    standAt(lane, 2, 40)
    expect(lane.delivery.status.pool).toBe(4_000)
    expect(lane.sends().nonces).toEqual([2])
  })

  it('at the same nonce again waits for a block, and bounds the pool by the number that it holds', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 2)
    lane.taken(lane.sends(), 0)
    standAt(lane, 0, 10)
    lane.taken(lane.sends(), 0)
    standAt(lane, 0, 40)
    expect(lane.delivery.status.pool).toBe(1)
    expect(lane.next().do).toBe('wait')
    lane.at(1_000)
    lane.refresh(0, 0, true)
    expect(lane.sends().nonces).toEqual([0])
  })

  it('bounds the pool by the number that it holds above the account’s own count', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 }, { floor: 10 })
    lane.refresh(10, 10, true)
    lane.offer(10, 14)
    lane.taken(lane.sends(), 10)
    for (const from of [20, 60]) {
      standAt(lane, 10, from)
      if (from === 20) lane.taken(lane.sends(), 10)
    }
    expect(lane.delivery.status.pool).toBe(1)
  })

  it('proves nothing about an overdue request while the one before it is arriving', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 4)
    lane.sends()
    lane.offer(4, 6)
    lane.sends()
    lane.at(1_000)
    expect(lane.next().do).toBe('count')
    lane.at(1_020)
    lane.count(4, 1_000)
    expect(lane.next().do).toBe('wait')
  })
})

describe('refreshes without any of our nonces', () => {
  it('count from the time when the endpoint must have had the nonce', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    const first = lane.sends()
    lane.at(150)
    lane.taken(first)
    lane.refresh(1)
    lane.at(300)
    lane.offer(1, 2)
    lane.sends()
    for (const ms of [400, 600]) {
      lane.at(ms)
      lane.refresh(1)
    }
    expect(lane.next().do).toBe('wait')
    lane.at(800)
    lane.refresh(1)
    expect(lane.sends().nonces).toEqual([1])
  })

  it('count from 0 again if a body brings lower nonces that another process sent', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 4 })
    lane.offer(3, 4)
    lane.taken(lane.sends())
    const missing = [
      [1_000, 0],
      [2_000, 3],
      [3_000, 3],
      [4_000, 3],
    ].map(([ms = 0, to = 0]) => {
      lane.at(ms)
      lane.refresh(to)
      return lane.delivery.status.missing
    })
    expect(missing).toEqual([undefined, undefined, undefined, 3])
  })

  /** A request leaves at 1,000 ms and is not answered. Four polls of 80 ms follow each other from then on. */
  const copiesOf = (firstAskedAtMs: number, tripMs: number | undefined) => {
    const lane = byHand({ ...SEQUENCER, countsMempool: undefined })
    if (tripMs !== undefined) {
      lane.offer(0, 1)
      const measured = lane.sends()
      lane.at(tripMs)
      lane.taken(measured)
      lane.refresh(1, 1, true)
    }
    const nonce = tripMs === undefined ? 0 : 1
    lane.at(1_000)
    lane.offer(nonce, nonce + 1)
    lane.sends()
    const copies: number[] = []
    for (let askedAtMs = firstAskedAtMs; copies.length === 0; askedAtMs += 80) {
      lane.at(askedAtMs + 80)
      lane.refresh(nonce, nonce, true, askedAtMs)
      const action = lane.next()
      if (action.do === 'send') copies.push(askedAtMs)
    }
    return copies[0]
  }

  it('prove nothing about a request within its round trip, at any time', () => {
    for (const tripMs of [undefined, 30, 80, 160])
      for (let askedAtMs = 921; askedAtMs <= 1_000; askedAtMs++) {
        // Two of those requested after its round trip. Until one was measured the poll's own round trip is
        // used.
        const earliestMs = 1_000 + (tripMs ?? 80) + 80
        const resentMs = copiesOf(askedAtMs, tripMs)
        expect(resentMs).toBeGreaterThanOrEqual(earliestMs)
        expect(resentMs).toBeLessThan(earliestMs + 80)
      }
  })

  it('requested before the request could arrive report that, so that the next one may come soon', () => {
    const lane = byHand(SEQUENCER)
    expect(lane.refresh(0, 0, false)).toBe(true)
    lane.offer(0, 2)
    const request = lane.sends()
    lane.at(80)
    lane.taken(request)
    expect(lane.refresh(0, 0, false, 40)).toBe(false)
    lane.at(300)
    expect(lane.refresh(0, 0, false, 280)).toBe(true)
  })

  it('at a nonce that should have been kept cause all above it to be sent again', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 4 })
    lane.offer(0, 8)
    lane.taken(lane.sends())
    const refreshes = (to: number, from: number) => {
      for (const ms of [from, from + 200, from + 400]) {
        lane.at(ms)
        lane.refresh(to)
      }
    }
    refreshes(0, 200)
    const first = lane.sends()
    expect(first.nonces).toEqual([0, 5, 6, 7])
    lane.taken(first)
    refreshes(1, 1_000)
    expect(lane.sends().nonces).toEqual(range(1, 8))
  })

  it('prove nothing if the count shows the pool, or the endpoint has other bytes', () => {
    const counting = byHand(GETH)
    counting.offer(0, 1)
    counting.taken(counting.sends(), 1)
    counting.offer(1, 2)
    counting.taken(counting.sends())
    const occupied = byHand(SEQUENCER)
    occupied.offer(0, 1)
    occupied.end(occupied.sends().request, { end: 'answers', answers: [{ kind: 'occupied' }] })
    for (let ms = 200; ms < 3_000; ms += 200)
      for (const lane of [counting, occupied]) {
        lane.at(ms)
        lane.refresh(0)
        expect(lane.next().do).not.toBe('send')
      }
  })

  it.each([
    ['of which only one came', [0], 15_000],
    ['every ten seconds', [0, 10_000, 20_000], 30_000],
    ['that became slower', [0, 4_000, 14_000], 30_000],
    ['that became faster', [0, 10_000, 12_000], 18_000],
  ])('%s are replaced by three times their interval', (_, refreshesMs, quietMs) => {
    const lane = byHand(SEQUENCER)
    for (const ms of refreshesMs) {
      lane.at(ms)
      lane.refresh(0)
    }
    lane.offer(0, 1)
    lane.taken(lane.sends())
    const beganMs = refreshesMs.at(-1) ?? 0
    lane.at(beganMs + quietMs - 1)
    expect(lane.next()).toEqual({ do: 'wait', untilMs: beganMs + quietMs })
    lane.at(beganMs + quietMs)
    expect(lane.sends().nonces).toEqual([0])
  })

  it.each([0, 1])(
    'that do not come are noticed before the budget is called, which grants %d calls',
    (calls) => {
      const lane = byHand(SEQUENCER)
      lane.offer(0, 1)
      lane.taken(lane.sends())
      const { untilMs = 0 } = lane.next() as { untilMs?: number }
      const asked: Demand[] = []
      const grant = (demand: Demand) => {
        asked.push(demand)
        return calls
      }
      const action = lane.delivery.next({ nowMs: untilMs, grant, below: NEVER })
      expect(asked).toEqual([{ kind: 'repair', calls: 1 }])
      expect(action.do).toBe(calls === 0 ? 'wait' : 'send')
    },
  )

  it('that are sealed allow a retry after failures, a second after the last one', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    let failedMs = 0
    for (let failures = 0; failures < 9; ) {
      const action = lane.next()
      if (action.do === 'wait') failedMs = action.untilMs ?? failedMs
      lane.at(failedMs)
      if (action.do !== 'send') continue
      lane.end(action.request, { end: 'failed' })
      failures++
    }
    expect(lane.next()).toMatchObject({ do: 'wait' })
    lane.at(failedMs + 300)
    lane.refresh(0, 0, true)
    expect(lane.next()).toEqual({ do: 'wait', untilMs: failedMs + 1_000 })
    lane.at(failedMs + 1_000)
    expect(lane.sends().nonces).toEqual([0])
  })

  it('that are sealed raise the pool bound only if it held nonces back since the last one', () => {
    const lane = byHand(GETH, { poolStart: 4 })
    lane.offer(0, 6)
    lane.taken(lane.sends(), 4)
    lane.next()
    lane.refresh(4, 4, true)
    const { pool } = lane.delivery.status
    expect(pool).toBeGreaterThan(4)
    lane.taken(lane.sends(), 6)
    lane.refresh(6, 6, true)
    expect(lane.delivery.status.pool).toBe(pool)
  })

  it('are replaced by time if no block comes', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    lane.taken(lane.sends())
    const times: number[] = []
    for (let ms = 0; ms <= 300_000; ms += 1_000) {
      lane.at(ms)
      const action = lane.next()
      if (action.do !== 'send') continue
      times.push(ms)
      lane.taken(action)
    }
    expect(times).toEqual([15_000, 45_000, 105_000, 225_000])
  })

  it('free the place of a hanging request, once its nonces are in a body', () => {
    const lane = byHand(SEQUENCER, { requestsMax: 1 })
    lane.offer(0, 1)
    lane.sends()
    lane.at(200)
    lane.refresh(1)
    lane.offer(1, 2)
    expect(lane.sends().nonces).toEqual([1])
  })

  it('that take a nonce back require it to be offered again', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 2)
    lane.taken(lane.sends())
    lane.refresh(2, 2, true)
    lane.refresh(1, 1, true)
    expect(lane.delivery.status.acknowledgedTo).toBe(1)
    lane.delivery.offer(1, SIZE)
    expect(lane.sends().nonces).toEqual([1])
  })
})
