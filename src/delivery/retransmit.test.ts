import { describe, expect, it } from 'vitest'
import { byHand, GETH, range, SEQUENCER, SIZE } from './byHand.fixture.js'

type ByHand = ReturnType<typeof byHand>

/** Two counts, each asked for after all that is known, that stand at the same nonce. */
function standAt(lane: ByHand, count: number, fromMs: number): void {
  for (const ms of [fromMs, fromMs + 10]) {
    lane.at(ms)
    lane.count(count)
  }
}

describe('a count that stands still', () => {
  it('keeps new nonces back when the endpoint would not keep so many above a missing one', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 10)
    lane.taken(lane.sends(), 2)
    lane.offer(10, 12)
    expect(lane.next().do).toBe('wait')
    lane.at(10)
    lane.count(8)
    expect(lane.sends().nonces).toEqual([10, 11])
  })

  it('keeps new nonces back where the pool may be full', () => {
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
    'means that a full pool dropped all from there on, where it held as many as ever before: from nonce %d on',
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

  it('means that the endpoint kept nothing above it, where it stands at what should have been kept', () => {
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

  it('halves the window, and the pool bound where the endpoint kept nothing above', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 4)
    lane.taken(lane.sends(), 0)
    standAt(lane, 0, 10)
    expect(lane.delivery.status).toMatchObject({ window: 32, pool: 4_000, missing: 0 })
    lane.taken(lane.sends(), 1)
    standAt(lane, 1, 40)
    expect(lane.delivery.status).toMatchObject({ window: 32, pool: 2_000, missing: 1 })
  })

  it('takes nothing for kept that was acknowledged since', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 4)
    lane.taken(lane.sends(), 0)
    standAt(lane, 0, 10)
    lane.taken(lane.sends(), 4)
    standAt(lane, 2, 40)
    expect(lane.delivery.status.pool).toBe(4_000)
    expect(lane.sends().nonces).toEqual([2])
  })

  it('at the same nonce again waits for a block, and bounds the pool by what it holds', () => {
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

  it('bounds the pool by what it holds above the account’s own count', () => {
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

  it('says nothing of a request that is overdue while one before it is arriving', () => {
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

describe('what is lost', () => {
  /** As many refreshes as have to pass without the lowest nonce before it is lost for the `times`th time. */
  function silence(lane: ByHand, times: number, fromMs: number): void {
    for (let refresh = 0; refresh < 2 ** times; refresh++) {
      lane.at(fromMs + refresh * 200)
      lane.refresh(0)
    }
  }

  it('goes with all above it the first time, and alone from the second time on', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 3)
    lane.taken(lane.sends())
    lane.refresh(0)
    silence(lane, 1, 200)
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

  it('by silence keeps new nonces back until it is acknowledged, whatever lies above it', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 3)
    lane.taken(lane.sends())
    lane.refresh(0)
    silence(lane, 1, 200)
    lane.offer(3, 5)
    lane.taken(lane.sends())
    expect(lane.next().do).toBe('wait')
    lane.at(700)
    lane.refresh(1)
    expect(lane.sends().nonces).toEqual([3, 4])
  })

  it('by a count keeps new nonces back until all is acknowledged that was sent before', () => {
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

  it('halves the window where the endpoint had it, and leaves it where a request got lost on its way', () => {
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

  it('by an answer keeps nothing new back once it is taken', () => {
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

  it('leaves what another request carries, and what the endpoint refused or put off', () => {
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

  it('frees the way for its next copy although its request is still open', () => {
    const lane = byHand(GETH, { requestsMax: 1 })
    lane.offer(0, 2)
    lane.sends()
    lane.at(5_000)
    expect(lane.next().do).toBe('count')
    lane.count(0)
    expect(lane.sends().nonces).toEqual([0, 1])
  })

  it('with a request that hangs goes as a whole each time', () => {
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

  it('for the second time by silence waits for two refreshes, and for a block', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    lane.taken(lane.sends())
    lane.refresh(0)
    silence(lane, 1, 200)
    lane.taken(lane.sends())
    const blockAt = (ms: number) => {
      lane.at(ms)
      lane.refresh(0, 0, true)
      return lane.next().do
    }
    expect([blockAt(600), blockAt(2_600)]).toEqual(['wait', 'send'])
  })

  it('that a full pool does not take waits for one block', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'full' }] })
    expect(lane.next().do).toBe('wait')
    lane.at(2_000)
    lane.refresh(0, 0, true)
    expect(lane.sends().nonces).toEqual([0])
  })

  it('behind one that a block brings is found by the next refresh, where its own copy left before', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 4 })
    lane.at(10)
    lane.offer(0, 2)
    lane.taken(lane.sends())
    lane.refresh(0)
    silence(lane, 1, 200)
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

  it('by silence earns the count one more trial, where it is not known what the count includes', () => {
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
    expect(lane.next()).toMatchObject({ do: 'send', nonces: [16], count: true })
  })

  it('of a request without an answer goes at once with the rest of it, however often that happens', () => {
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

describe('refreshes without a nonce of ours', () => {
  it('count from the time when the endpoint must have had it', () => {
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

  /** A request leaves at 1,000 ms and is not answered; four looks of 80 ms follow each other from then on. */
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

  it('say nothing of a request within its round trip, whenever they come', () => {
    for (const tripMs of [undefined, 30, 80, 160])
      for (let askedAtMs = 921; askedAtMs <= 1_000; askedAtMs++) {
        // Two of those that were asked for after its round trip. Until one was measured the look's own stands for it.
        const earliestMs = 1_000 + (tripMs ?? 80) + 80
        const resentMs = copiesOf(askedAtMs, tripMs)
        expect(resentMs).toBeGreaterThanOrEqual(earliestMs)
        expect(resentMs).toBeLessThan(earliestMs + 80)
      }
  })

  it('that were asked for before the request could arrive say so, so that the next one may come soon', () => {
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

  it('at one that should have been kept have all above it sent again', () => {
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

  it('say nothing where the count shows the pool, or the endpoint has other bytes', () => {
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
  ])('%s are replaced by three times their distance', (_, refreshesMs, quietMs) => {
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

  it('that are sealed let a lane try again that waits after failures, a second after the last one', () => {
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

  it('that are sealed raise the pool bound only where it held nonces back since the last one', () => {
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

  it('are replaced by time where no block comes', () => {
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

  it('open the way again for a request that hangs, once its nonces are in a body', () => {
    const lane = byHand(SEQUENCER, { requestsMax: 1 })
    lane.offer(0, 1)
    lane.sends()
    lane.at(200)
    lane.refresh(1)
    lane.offer(1, 2)
    expect(lane.sends().nonces).toEqual([1])
  })

  it('that take a nonce back have it offered again', () => {
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
