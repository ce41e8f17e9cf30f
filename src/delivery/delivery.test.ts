import { describe, expect, it } from 'vitest'
import { byHand, GETH, NEVER, range, SEQUENCER, SIZE } from './byHand.fixture.js'
import type { Demand } from './select.js'

describe('new nonces', () => {
  it('leave in ascending order, as many as the window allows', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 100)
    expect(lane.sends().nonces).toEqual(range(0, 64))
    expect(lane.next().do).toBe('wait')
  })

  it('overtake an open request by no more than the endpoint keeps above a missing nonce', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 4 })
    lane.offer(0, 8)
    lane.sends()
    lane.offer(8, 12)
    expect(lane.sends().nonces).toEqual(range(8, 12))
    lane.offer(12, 13)
    expect(lane.next().do).toBe('wait')
  })

  it('are shared by the free requests if the endpoint keeps a whole window', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4_096 }, { windowStart: 1_000, batchStart: 1_000 })
    lane.offer(0, 750)
    expect([lane.sends(), lane.sends()].map(({ nonces }) => nonces.length)).toEqual([188, 188])
    lane.offer(750, 1_000)
    expect([lane.sends(), lane.sends()].map(({ nonces }) => nonces.length)).toEqual([312, 312])
    expect(lane.next().do).toBe('wait')
    // A share is never smaller than a worthwhile request.
    const few = byHand({ countsMempool: true, gapBudget: 4_096 }, { windowStart: 1_000, batchStart: 1_000 })
    few.offer(0, 130)
    expect([few.sends(), few.sends()].map(({ nonces }) => nonces.length)).toEqual([100, 30])
    const geth = byHand(GETH, { windowStart: 1_000, batchStart: 1_000 })
    geth.offer(0, 900)
    expect(geth.sends().nonces).toHaveLength(900)
  })

  it('are shared, but missing ones go again in one request', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4_096 }, { windowStart: 1_000, batchStart: 1_000 })
    lane.offer(0, 400)
    const sent = [lane.sends(), lane.sends(), lane.sends(), lane.sends()]
    for (const { request, nonces } of sent)
      lane.end(request, { end: 'answers', answers: nonces.map(() => ({ kind: 'limited' })) })
    expect(lane.sends().nonces).toEqual(range(0, 400))
  })

  it('wait for the open request at an endpoint that keeps none', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 2)
    const first = lane.sends()
    lane.offer(2, 3)
    expect(lane.next().do).toBe('wait')
    lane.taken(first)
    expect(lane.sends().nonces).toEqual([2])
  })

  it.each([Number.MAX_SAFE_INTEGER, 1_000_000_001])(
    'continue from the same nonce once a count of %i is refuted, at a cost independent of it',
    (wrong) => {
      const lane = byHand(GETH)
      lane.offer(0, 10)
      lane.taken(lane.sends(), 5)
      lane.refresh(wrong, wrong, true)
      lane.count(wrong)
      lane.refresh(5, 5, true)
      lane.count(5)
      lane.offer(5, 20)
      expect(lane.delivery.status).toMatchObject({ acknowledgedTo: 5, end: 20 })
      const again = lane.sends()
      expect(again.nonces).toEqual(range(5, 10))
      lane.taken(again)
      expect(lane.sends().nonces).toEqual(range(10, 20))
    },
  )

  it('are not sent above a nonce whose bytes are not in the store', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 10)
    const action = lane.delivery.next({ nowMs: 0, grant: () => NEVER, below: 3 })
    expect(action).toMatchObject({ do: 'send', nonces: [0, 1, 2] })
  })

  it('are as many as the request budget grants, including the count if it is a small part', () => {
    const lane = byHand(GETH)
    lane.offer(0, 40)
    const asked: Demand[] = []
    const grant = (calls: number) => (demand: Demand) => {
      asked.push(demand)
      return calls
    }
    const next = (calls: number) => lane.delivery.next({ nowMs: 0, grant: grant(calls), below: NEVER })
    const first = next(4)
    expect(asked).toEqual([{ kind: 'new', calls: 41 }])
    expect(first).toMatchObject({ do: 'send', nonces: range(0, 4), count: false })
    if (first.do === 'send') lane.taken(first)
    expect(next(12)).toMatchObject({ do: 'send', nonces: range(4, 15), count: true })
  })

  it('stay within the bytes of a request, but one transaction of any size goes', () => {
    const lane = byHand(SEQUENCER, { requestCharactersMax: 2 * SIZE })
    lane.offer(0, 3)
    const first = lane.sends()
    expect(first.nonces).toEqual([0, 1])
    lane.taken(first)
    lane.taken(lane.sends())
    lane.delivery.offer(3, 10 * SIZE)
    expect(lane.sends().nonces).toEqual([3])
  })

  it('are held back at once if the account is allowed fewer in the pool', () => {
    const lane = byHand(GETH)
    lane.delivery.know({ accountMax: 1 })
    lane.offer(0, 10)
    const first = lane.sends()
    expect(first.nonces).toEqual([0])
    lane.taken(first, 1)
    expect(lane.next().do).toBe('wait')
    lane.refresh(1, 1, true)
    expect(lane.sends().nonces).toEqual([1])
  })
})

describe('a missing nonce', () => {
  it('is sent again after two counts at it, with the nonces that the endpoint cannot have kept', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 10)
    const first = lane.sends()
    lane.at(20)
    lane.taken(first, 2)
    expect(lane.next()).toMatchObject({ do: 'wait', untilMs: 25 })
    lane.at(25)
    expect(lane.next().do).toBe('count')
    lane.at(45)
    lane.count(2, 25)
    expect(lane.sends().nonces).toEqual([2, 7, 8, 9])
  })

  it('holds new nonces back until the acknowledgement has passed all earlier sends', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 4)
    lane.taken(lane.sends(), 1)
    lane.at(10)
    lane.count(1)
    lane.offer(4, 6)
    const again = lane.sends()
    expect(again.nonces).toEqual([1])
    lane.taken(again, 1)
    expect(lane.next().do).toBe('wait')
    lane.at(20)
    lane.count(4)
    expect(lane.sends().nonces).toEqual([4, 5])
  })

  it('is not concluded from a count that was requested before a newer one', () => {
    const lane = byHand(GETH)
    lane.offer(0, 4)
    lane.taken(lane.sends(), 4)
    lane.at(100)
    lane.count(4, 90)
    lane.count(0, 80)
    lane.count(0, 85)
    expect(lane.delivery.status.acknowledgedTo).toBe(4)
    expect(lane.next().do).toBe('wait')
  })

  it('is the nonce that the endpoint names when it refuses a higher one', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 2)
    lane.at(10)
    lane.taken(lane.sends())
    lane.offer(2, 3)
    lane.at(20)
    const { request } = lane.sends()
    lane.end(request, { end: 'answers', answers: [{ kind: 'gapped', expected: 1, nonceMax: undefined }] })
    expect(lane.sends().nonces).toEqual([1, 2])
  })

  it('is found by two refreshes without it if no count shows the pool', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 3)
    lane.taken(lane.sends())
    lane.at(200)
    lane.refresh(0)
    expect(lane.next().do).toBe('wait')
    lane.at(400)
    lane.refresh(0)
    expect(lane.sends().nonces).toEqual([0, 1, 2])
  })

  it('is sent alone after the first time, with pauses that double up to one sealed block', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 1 })
    lane.offer(0, 5)
    lane.taken(lane.sends())
    const sentAt: number[] = []
    for (let refresh = 1; refresh <= 60; refresh++) {
      lane.at(200 * refresh)
      lane.refresh(0, 0, refresh % 30 === 0)
      const action = lane.next()
      if (action.do !== 'send') continue
      expect(action.nonces).toEqual(sentAt.length === 0 ? [0, 2, 3, 4] : [0])
      sentAt.push(refresh)
      lane.taken(action)
    }
    expect(sentAt).toEqual([2, 6, 14, 30, 60])
  })

  it('is sent again after two seconds of fast sealed blocks, not after each two of them', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 64 })
    lane.offer(0, 1)
    lane.taken(lane.sends())
    const sentAt: number[] = []
    for (let block = 1; block <= 40; block++) {
      lane.at(200 * block)
      lane.refresh(0, 0, true)
      const action = lane.next()
      if (action.do !== 'send') continue
      sentAt.push(block)
      lane.taken(action)
    }
    expect(sentAt).toEqual([2, 6, 14, 24, 34])
  })

  it('is not concluded from refreshes that were made before it arrived, or that bring others of ours', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 4)
    const first = lane.sends()
    lane.at(150)
    lane.taken(first)
    lane.refresh(0)
    lane.at(350)
    lane.refresh(2)
    lane.at(550)
    lane.refresh(2)
    expect(lane.next().do).toBe('wait')
  })

  it.each([
    ['before the newest copy in a refresh: that refresh is one of the two', false, [2]],
    ['after it, with other bytes: two more are needed', true, undefined],
  ])('left %s', (_, isOffered, expected) => {
    const lane = byHand({ countsMempool: false, gapBudget: 64 })
    lane.offer(0, 3)
    lane.taken(lane.sends())
    lane.at(200)
    lane.refresh(0)
    lane.at(400)
    lane.refresh(0)
    const again = lane.sends()
    expect(again.nonces).toEqual([0])
    lane.taken(again)
    lane.at(410)
    if (isOffered) lane.offer(2, 3)
    if (isOffered) lane.taken(lane.sends())
    lane.at(600)
    lane.refresh(2)
    expect(lane.next().do).toBe('wait')
    lane.at(800)
    lane.refresh(2)
    const action = lane.next()
    expect(action.do === 'send' ? action.nonces : undefined).toEqual(expected)
  })

  it('waits for other bytes if the endpoint refuses these', () => {
    const lane = byHand(GETH)
    lane.offer(0, 3)
    const { request } = lane.sends()
    lane.end(request, {
      end: 'answers',
      answers: [{ kind: 'taken' }, { kind: 'refused' }, { kind: 'taken' }],
    })
    lane.offer(3, 4)
    lane.at(10)
    lane.count(1, 5)
    expect(lane.next().do).toBe('wait')
    lane.delivery.offer(1, SIZE)
    expect(lane.sends().nonces).toEqual([1])
  })
})

describe('a request without an answer', () => {
  it('is counted first if the count shows the pool, and only missing nonces are sent again', () => {
    const lane = byHand(GETH)
    lane.offer(0, 10)
    const { request } = lane.sends()
    lane.at(20)
    lane.end(request, { end: 'failed' })
    expect(lane.next().do).toBe('count')
    lane.at(40)
    lane.count(7, 20)
    expect(lane.sends().nonces).toEqual([7, 8, 9])
  })

  it('is sent again at once otherwise, then with growing pauses', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    const times: number[] = []
    for (let nowMs = 0; nowMs < 2_000; nowMs += 50) {
      lane.at(nowMs)
      const action = lane.next()
      if (action.do !== 'send') continue
      times.push(nowMs)
      lane.end(action.request, { end: 'failed' })
    }
    expect(times).toEqual([0, 50, 150, 350, 750, 1_550])
  })

  it('is counted when it takes much longer than the others', () => {
    const lane = byHand(GETH)
    lane.offer(0, 4)
    lane.sends()
    const wait = lane.next()
    expect(wait).toEqual({ do: 'wait', untilMs: 1_000 })
    lane.at(1_000)
    expect(lane.next().do).toBe('count')
    lane.at(1_020)
    lane.count(0, 1_000)
    expect(lane.sends().nonces).toEqual([0, 1, 2, 3])
  })

  it('does not invalidate an older copy that arrives late', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    const first = lane.sends()
    for (const ms of [200, 400]) {
      lane.at(ms)
      lane.refresh(0)
    }
    const second = lane.sends()
    lane.taken(first)
    lane.end(second.request, { end: 'failed' })
    expect(lane.next().do).toBe('wait')
  })
})

describe('other bytes of a nonce', () => {
  it('are sent at once, even if the count acknowledges the nonce', () => {
    const lane = byHand(GETH)
    lane.offer(0, 4)
    lane.taken(lane.sends(), 4)
    lane.delivery.offer(1, SIZE)
    expect(lane.sends().nonces).toEqual([1])
    expect(lane.next().do).toBe('wait')
    // The count still holds for the nonces above.
    expect(lane.delivery.status.acknowledgedTo).toBe(4)
  })

  it('are sent until they are answered, because a count does not show which bytes it counts', () => {
    const lane = byHand(GETH)
    lane.offer(0, 1)
    lane.taken(lane.sends(), 1)
    lane.delivery.offer(0, SIZE)
    lane.end(lane.sends().request, { end: 'failed' })
    expect(lane.sends().nonces).toEqual([0])
  })
})

describe('a pool without room', () => {
  it('gets no more than it accepts until a block makes room', () => {
    const lane = byHand(GETH)
    lane.offer(0, 10)
    const { request } = lane.sends()
    const answers = range(0, 10).map((nonce) => ({
      kind: nonce < 6 ? ('taken' as const) : ('full' as const),
    }))
    lane.end(request, { end: 'answers', answers, count: 6 })
    expect(lane.next().do).toBe('wait')
    lane.refresh(3, 3, true)
    expect(lane.sends().nonces).toEqual([6, 7, 8])
  })
})

describe('moving to another endpoint', () => {
  it('takes the nonces along that this endpoint does not have', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 70)
    const { request } = lane.sends()
    const answers = range(0, 64).map((nonce) => ({
      kind: nonce < 60 ? ('taken' as const) : ('limited' as const),
    }))
    lane.end(request, { end: 'answers', answers })
    expect(lane.delivery.reclaim()).toEqual(range(60, 70))
    expect(lane.next().do).toBe('wait')
  })
})
