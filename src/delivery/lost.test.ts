import { describe, expect, it } from 'vitest'
import { type ByHand, byHand, GETH, SEQUENCER, SIZE, standAt } from './byHand.fixture.js'

describe('a lost nonce', () => {
  /** The number of refreshes without the lowest nonce before it is lost for the `times`th time. */
  function silence(lane: ByHand, times: number, fromMs: number): void {
    for (let refresh = 0; refresh < 2 ** times; refresh++) {
      lane.at(fromMs + refresh * 200)
      lane.refresh(0)
    }
  }

  /**
   * The given number of nonces is accepted, and two refreshes lack all of them: the lowest one is lost at 400
   * ms.
   */
  function loseFirst(lane: ByHand, count: number): void {
    lane.offer(0, count)
    lane.taken(lane.sends())
    lane.refresh(0)
    silence(lane, 1, 200)
  }

  it('is resent with all nonces above it the first time, and alone from the second time on', () => {
    const lane = byHand(SEQUENCER)
    loseFirst(lane, 3)
    const first = lane.sends()
    expect(first.nonces).toEqual([0, 1, 2])
    lane.taken(first)
    lane.refresh(0)
    silence(lane, 2, 1_000)
    const second = lane.sends()
    expect(second.nonces).toEqual([0])
    lane.taken(second)
    lane.refresh(0)
    silence(lane, 3, 3_000)
    expect(lane.sends().nonces).toEqual([0])
    expect(lane.delivery.status.pool).toBe(4_000)
  })

  it('found by silence holds new nonces back until it is acknowledged, in spite of the nonces above it', () => {
    const lane = byHand(SEQUENCER)
    loseFirst(lane, 3)
    lane.offer(3, 5)
    lane.taken(lane.sends())
    expect(lane.next().do).toBe('wait')
    lane.at(700)
    lane.refresh(1)
    expect(lane.sends().nonces).toEqual([3, 4])
  })

  it('found by a count holds new nonces back until all earlier sends are acknowledged', () => {
    const lane = byHand(GETH)
    lane.offer(0, 4)
    lane.taken(lane.sends(), 0)
    standAt(lane, 0, 10)
    lane.offer(4, 6)
    const repair = lane.sends()
    expect(repair.nonces).toEqual([0])
    lane.taken(repair, 3)
    expect(lane.next().do).not.toBe('send')
    lane.at(40)
    lane.count(4)
    expect(lane.sends().nonces).toEqual([4, 5])
  })

  it('halves the window if the endpoint had it, but not if a request was lost on its way', () => {
    const taken = byHand(GETH)
    taken.offer(0, 4)
    taken.taken(taken.sends(), 0)
    standAt(taken, 0, 10)
    expect(taken.delivery.status.window).toBe(32)

    const onItsWay = byHand(GETH)
    onItsWay.offer(0, 4)
    const { request } = onItsWay.sends()
    onItsWay.end(request, { end: 'failed' })
    standAt(onItsWay, 0, 5_000)
    expect(onItsWay.delivery.status).toMatchObject({ missing: 0, window: 64 })
  })

  it('found by an answer holds no new nonces back once it is accepted', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    lane.taken(lane.sends())
    lane.at(100)
    lane.offer(1, 2)
    const { request } = lane.sends()
    lane.end(request, { end: 'answers', answers: [{ kind: 'gapped', expected: 0, nonceMax: undefined }] })
    lane.offer(2, 3)
    const repair = lane.sends()
    expect(repair.nonces).toEqual([0, 1])
    lane.taken(repair)
    expect(lane.sends().nonces).toEqual([2])
  })

  it('leaves nonces of another request, and nonces that the endpoint refused or put off', () => {
    const open = byHand({ countsMempool: true, gapBudget: 4 })
    open.offer(0, 2)
    open.sends()
    open.offer(2, 4)
    open.sends()
    open.at(5_000)
    open.count(0)
    expect(open.sends().nonces).toEqual([0, 1])

    const answered = byHand({ countsMempool: true, gapBudget: 2 })
    answered.offer(0, 7)
    const { request } = answered.sends()
    const taken = { kind: 'taken' } as const
    const answers = [taken, { kind: 'refused' }, { kind: 'limited' }, taken, taken, taken, taken] as const
    answered.end(request, { end: 'answers', answers, count: 0 })
    standAt(answered, 0, 2_000)
    // 3 and 4 are within the gap budget.
    expect(answered.sends().nonces).toEqual([0, 2, 5, 6])
  })

  it('leaves nonces of another request above everything that the endpoint keeps', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 10)
    lane.taken(lane.sends())
    lane.offer(10, 14)
    expect(lane.sends().nonces).toEqual([10, 11, 12, 13])
    standAt(lane, 0, 10)
    expect(lane.sends().nonces).toEqual([0, 5, 6, 7, 8, 9])
  })

  it('makes room for its next copy although its request is still open', () => {
    const lane = byHand(GETH, { requestsMax: 1 })
    lane.offer(0, 2)
    lane.sends()
    lane.at(5_000)
    expect(lane.next().do).toBe('count')
    lane.count(0)
    expect(lane.sends().nonces).toEqual([0, 1])
  })

  it('is resent with its whole request each time, if that hangs', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 3)
    lane.sends()
    lane.refresh(0)
    silence(lane, 1, 200)
    expect(lane.sends().nonces).toEqual([0, 1, 2])
    expect(lane.delivery.status.window).toBe(32)
    lane.at(1_000)
    lane.refresh(0)
    silence(lane, 1, 1_200)
    expect(lane.next().do).toBe('wait')
    silence(lane, 1, 1_600)
    expect(lane.sends().nonces).toEqual([0, 1, 2])
  })

  it('waits for two refreshes, and for a block, the second time that silence shows the loss', () => {
    const lane = byHand(SEQUENCER)
    loseFirst(lane, 1)
    lane.taken(lane.sends())
    const blockAt = (ms: number) => {
      lane.at(ms)
      lane.refresh(0, 0, true)
      return lane.next().do
    }
    expect([blockAt(600), blockAt(2_600)]).toEqual(['wait', 'send'])
  })

  it('waits for one block if the pool was full', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'full' }] })
    expect(lane.next().do).toBe('wait')
    lane.at(2_000)
    lane.refresh(0, 0, true)
    expect(lane.sends().nonces).toEqual([0])
  })

  it('is found by the next refresh after a block with a nonce that left later', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 4 })
    lane.at(10)
    loseFirst(lane, 2)
    const repair = lane.sends()
    expect(repair.nonces).toEqual([0])
    lane.taken(repair)
    lane.at(800)
    lane.refresh(1)
    expect(lane.next().do).toBe('wait')
    lane.at(1_000)
    lane.refresh(1)
    expect(lane.sends().nonces).toEqual([1])
  })

  it('is found by a second silent refresh, although a block brings a nonce that other endpoints received too', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 4)
    lane.taken(lane.sends())
    const refresh = (ms: number, to: number) => {
      lane.at(ms)
      lane.refresh(to, to, true)
    }
    refresh(1_000, 1)
    refresh(2_000, 1)
    lane.delivery.sentElsewhere(1)
    refresh(3_000, 2)
    expect(lane.sends().nonces).toEqual([2, 3])
  })

  it('is not found that way if the block also brings a nonce of this endpoint, or its own newer copy', () => {
    for (const own of ['another', 'newer']) {
      const lane = byHand(SEQUENCER)
      lane.offer(0, 5)
      lane.taken(lane.sends())
      lane.at(1_000)
      lane.refresh(1, 1, true)
      lane.at(2_000)
      lane.refresh(1, 1, true)
      lane.delivery.sentElsewhere(1)
      if (own === 'newer') {
        lane.delivery.offer(1, SIZE, 'bumped')
        lane.taken(lane.sends())
      }
      lane.at(3_000)
      lane.refresh(own === 'another' ? 3 : 2, own === 'another' ? 3 : 2, true)
      expect(lane.next()).not.toMatchObject({ do: 'send' })
    }
  })

  it('found by silence gives the count one more trial if the scope of the count is unknown', () => {
    const lane = byHand({ gapBudget: 0 })
    for (let nonce = 0; nonce < 17; nonce++) {
      lane.at(nonce * 100)
      lane.offer(nonce, nonce + 1)
      const action = lane.next()
      if (action.do !== 'send') throw new Error(action.do)
      expect(action.count).toBe(nonce < 16)
      lane.taken(action)
      if (nonce < 16) lane.refresh(nonce + 1)
    }
    for (const ms of [2_000, 2_200]) {
      lane.at(ms)
      lane.refresh(16)
    }
    const again = lane.next()
    expect(again).toMatchObject({ do: 'send', nonces: [16], count: true })
    if (again.do === 'send') lane.taken(again)
    lane.refresh(17)
    lane.offer(17, 18)
    expect(lane.next()).toMatchObject({ do: 'send', nonces: [17], count: false })
  })

  it('is resent at once with the rest of its unanswered request, however often that happens', () => {
    const lane = byHand(GETH)
    lane.offer(0, 3)
    lane.end(lane.sends().request, { end: 'failed' })
    const again: (readonly number[])[] = []
    for (const ms of [5_000, 10_000, 70_000]) {
      lane.at(ms)
      lane.count(0)
      // The size of the request may have been the reason: half of it is tried from the second time on.
      const { request, nonces } = lane.sends()
      lane.end(request, { end: 'failed' })
      again.push(nonces)
    }
    expect(again).toEqual([[0, 1, 2], [0], [0]])
    lane.at(140_000)
    lane.count(0)
    lane.taken(lane.sends())
    expect(lane.sends().nonces).toEqual([1])
  })
})
