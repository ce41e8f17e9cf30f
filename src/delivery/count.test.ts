import { describe, expect, it } from 'vitest'
import { byHand, GETH, range, SIZE } from './byHand.fixture.js'

/** Ten nonces that the endpoint accepted, and a later count that lacks them. */
function tenUncounted() {
  const lane = byHand({ countsMempool: true, gapBudget: 64 })
  lane.offer(0, 10)
  lane.at(10)
  lane.taken(lane.sends())
  lane.at(20)
  lane.count(0)
  return lane
}

describe('a count', () => {
  it.each([
    [undefined, 4],
    [false, 0],
  ])(
    'proves no loss if it may exclude the pool, and acknowledges nothing if it does: %s',
    (countsMempool, acknowledgedTo) => {
      const lane = byHand({ countsMempool, gapBudget: 64 })
      lane.offer(0, 10)
      lane.taken(lane.sends())
      for (const ms of [10, 100, 200, 300]) {
        lane.at(ms)
        lane.count(4)
        expect(lane.delivery.status).toMatchObject({ acknowledgedTo, missing: undefined, window: 64 })
      }
    },
  )

  it('of another request proves nothing about nonces that were answered after it was requested', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4_096 }, { windowStart: 200, batchStart: 101 })
    lane.offer(0, 200)
    const [lower, higher] = [lane.sends(), lane.sends()]
    lane.at(40)
    lane.taken(higher)
    // The node read it before the higher ones arrived.
    lane.at(50)
    lane.taken(lower, 100)
    lane.at(60)
    lane.count(100)
    expect(lane.delivery.status.missing).toBeUndefined()
    // Two readings that were requested later agree.
    lane.at(70)
    lane.count(100)
    expect(lane.delivery.status.missing).toBe(100)
  })

  it('that is far too high is discarded once it is known to exclude the pool: silent nonces are sent again', () => {
    const lane = byHand({ countsMempool: undefined, gapBudget: 64 })
    lane.offer(0, 2)
    lane.taken(lane.sends())
    lane.count(1_000_000_001)
    lane.delivery.know({ countsMempool: false })
    lane.at(2_000)
    lane.refresh(0)
    lane.at(4_000)
    lane.refresh(0)
    expect(lane.sends().nonces).toEqual([0])
  })

  it('of unknown scope is discarded once two blocks contain none of its nonces', () => {
    const lane = byHand({ countsMempool: undefined, gapBudget: 64 })
    lane.offer(0, 2)
    lane.taken(lane.sends(), 100)
    for (const ms of [2_000, 4_000]) {
      lane.at(ms)
      lane.refresh(0, 0, true)
    }
    expect(lane.delivery.status.acknowledgedTo).toBe(0)
    for (const ms of [6_000, 8_000]) {
      lane.at(ms)
      lane.refresh(0, 0, true)
    }
    expect(lane.sends().nonces).toEqual([0])
  })

  it('of unknown scope stays when another trait becomes known', () => {
    const lane = byHand({ countsMempool: undefined, gapBudget: 64 })
    lane.offer(0, 10)
    lane.taken(lane.sends(), 4)
    lane.delivery.know({ gapBudget: 16 })
    expect(lane.delivery.status.acknowledgedTo).toBe(4)
  })

  it('that includes the pool is read again once two blocks contain none of its nonces', () => {
    const lane = byHand(GETH)
    lane.offer(0, 2)
    lane.taken(lane.sends(), 100)
    lane.at(2_000)
    lane.refresh(0, 0, true)
    expect(lane.next().do).toBe('wait')
    lane.at(4_000)
    lane.refresh(0, 0, true)
    expect(lane.next().do).toBe('count')
    lane.count(0)
    lane.at(4_010)
    expect(lane.next().do).toBe('count')
    lane.count(0)
    const again = lane.sends()
    expect(again.nonces).toEqual([0])
    lane.taken(again, 2)
    // Sealed nonces need no other proof.
    lane.at(6_000)
    lane.refresh(2, 2, true)
    lane.at(9_000)
    lane.refresh(2, 2, true)
    expect(lane.next().do).toBe('wait')
  })

  it('that includes the pool is read again after a time without a block if it is the only evidence', () => {
    const lane = byHand(GETH)
    lane.offer(0, 3)
    const { request } = lane.sends()
    lane.at(20)
    lane.end(request, {
      end: 'answers',
      answers: range(0, 3).map(() => ({ kind: 'unanswered' })),
      count: 1_000,
    })
    expect(lane.delivery.status.acknowledgedTo).toBe(1_000)
    const action = lane.next()
    const dueMs = action.do === 'wait' ? (action.untilMs ?? 0) : 0
    expect(dueMs).toBeGreaterThan(5_000)
    lane.at(dueMs)
    expect(lane.next().do).toBe('count')
    lane.count(0)
    lane.at(dueMs + 20)
    lane.count(0)
    expect(lane.sends().nonces).toEqual([0, 1, 2])
  })

  it('does not acknowledge nonces that leave after it was read', () => {
    const lane = byHand(GETH)
    lane.count(5)
    lane.offer(0, 2)
    const request = lane.sends()
    expect(request.nonces).toEqual([0, 1])
    expect(lane.delivery.status).toMatchObject({ acknowledgedTo: 0, outstanding: 2 })
    lane.taken(request, 5)
    expect(lane.delivery.status.acknowledgedTo).toBe(5)
  })

  it('carried by a long request counts, although a lower one was requested later and came first', () => {
    const lane = byHand(GETH)
    lane.offer(0, 10)
    const request = lane.sends()
    lane.at(10)
    lane.count(0, 5)
    lane.at(500)
    lane.taken(request, 10)
    expect(lane.delivery.status.acknowledgedTo).toBe(10)
  })

  it('below the bodies shows nothing about the pool: two refreshes without the nonce do', () => {
    const lane = byHand(GETH)
    lane.offer(0, 8)
    lane.taken(lane.sends(), 8)
    lane.at(100)
    lane.refresh(5, 5, true)
    for (const ms of [110, 120, 130]) {
      lane.at(ms)
      lane.count(4)
      expect(lane.delivery.status).toMatchObject({ missing: undefined, window: 64, pool: 4_000 })
    }
    for (const [ms, missing] of [
      [200, undefined],
      [300, 5],
    ] as const) {
      lane.at(ms)
      lane.refresh(5, 5, true)
      expect(lane.delivery.status.missing).toBe(missing)
    }
  })

  it('below the bodies leaves the detection of a missing nonce to the next refresh', () => {
    const lane = byHand(GETH)
    lane.offer(0, 8)
    lane.taken(lane.sends())
    for (const ms of [100, 200, 300]) {
      lane.at(ms)
      lane.refresh(2, 2, true)
    }
    lane.count(1)
    expect(lane.next().do).toBe('wait')
    expect(lane.delivery.status.missing).toBeUndefined()
    lane.at(400)
    lane.refresh(2, 2, true)
    expect(lane.delivery.status.missing).toBe(2)
  })

  it('below the bodies is not requested in a loop', () => {
    const lane = byHand(GETH)
    lane.offer(0, 4)
    lane.taken(lane.sends(), 4)
    lane.at(100)
    lane.refresh(2, 2, true)
    lane.offer(4, 6)
    const { request } = lane.sends()
    lane.end(request, { end: 'failed' })
    let asked = 0
    for (let ms = 101; ms < 1_101; ms++) {
      lane.at(ms)
      if (lane.next().do !== 'count') continue
      asked++
      lane.count(1)
    }
    expect(asked).toBeLessThan(8)
  })

  it('is requested after a block too, as long as it does not include the accepted nonces', () => {
    const lane = tenUncounted()
    // The pool had kept one of the ten accepted nonces, as the block shows. There is no other evidence for
    // the others.
    lane.at(1_000)
    lane.refresh(1, 1, true)
    expect(lane.delivery.status).toMatchObject({ acknowledgedTo: 1, outstanding: 9 })
    for (const ms of [1_010, 1_040]) {
      lane.at(ms)
      expect(lane.next()).toEqual({ do: 'count' })
      lane.count(1)
    }
    expect(lane.sends().nonces).toEqual([1])
  })

  it('is not requested after each pre-confirmation, because counts lag behind it', () => {
    const lane = tenUncounted()
    lane.at(30)
    lane.refresh(1)
    lane.at(40)
    expect(lane.next().do).toBe('wait')
  })

  it('requested during a request, and without its nonces, proves no loss', () => {
    const lane = byHand(GETH)
    lane.offer(0, 10)
    const request = lane.sends()
    lane.at(100)
    lane.taken(request)
    for (const [askedAtMs, ms] of [
      [50, 120],
      [60, 140],
    ] as const) {
      lane.at(ms)
      lane.count(0, askedAtMs)
    }
    expect(lane.delivery.status).toMatchObject({ missing: undefined, window: 64 })
  })
})

describe('nonces that another process sent', () => {
  it.each([
    ['counts its pool', GETH],
    ['keeps nothing above a missing nonce', { countsMempool: true, gapBudget: 0 }],
    ['is not known yet', {}],
  ])('are no gap below the count of an endpoint that %s', (_, traits) => {
    const lane = byHand(traits)
    lane.offer(3, 5)
    lane.count(3)
    expect(lane.sends().nonces).toEqual([3, 4])
  })

  it('are counted at once, and again after each refresh, as long as a new one waits above them', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 0 })
    lane.offer(5, 10)
    expect(lane.next()).toEqual({ do: 'count' })
    lane.at(10)
    lane.count(3)
    lane.at(500)
    expect(lane.next().do).toBe('wait')
    lane.at(1_000)
    lane.refresh(3, 3, true)
    lane.at(1_010)
    expect(lane.next()).toEqual({ do: 'count' })
    lane.count(5)
    expect(lane.sends().nonces).toEqual(range(5, 10))
  })

  it('are not counted again if a count was read at the moment of the refresh', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 0 })
    lane.offer(5, 10)
    lane.at(1_000)
    lane.refresh(3, 3, true)
    lane.count(3)
    expect(lane.next().do).toBe('wait')
  })

  it('are not sent past if one lies above its count', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 0 })
    lane.offer(3, 5)
    lane.count(2)
    expect(lane.next()).toMatchObject({ do: 'wait' })
  })
})

describe('a window', () => {
  it('is not halved for a request that was lost on its way', () => {
    const lane = byHand(GETH)
    lane.offer(0, 10)
    const { request } = lane.sends()
    lane.at(10)
    lane.end(request, { end: 'failed' })
    lane.at(20)
    lane.count(0)
    expect(lane.sends().nonces).toEqual(range(0, 10))
    expect(lane.delivery.status.window).toBe(64)
  })
})

describe('bytes that are offered again', () => {
  const offered = (kind: 'taken' | 'occupied' | 'refused', bytes: string) => {
    const lane = byHand(GETH)
    lane.delivery.offer(0, SIZE, 'a')
    const { request } = lane.sends()
    lane.end(request, { end: 'answers', answers: [{ kind }], count: 1 })
    expect(lane.delivery.isRefused(0)).toBe(kind !== 'taken')
    lane.delivery.offer(0, SIZE, bytes)
    return lane.next()
  }

  it('need no second copy if the endpoint has them', () => {
    expect(offered('taken', 'a').do).toBe('wait')
  })

  it('are sent if the endpoint did not accept them, or had others', () => {
    for (const kind of ['occupied', 'refused'] as const)
      expect(offered(kind, 'a')).toMatchObject({ do: 'send', nonces: [0] })
  })

  it('are sent if they differ from the earlier bytes', () => {
    expect(offered('taken', 'b')).toMatchObject({ do: 'send', nonces: [0] })
  })
})

describe('a confirmation by a feed', () => {
  it('acknowledges at once, and is no refresh', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 0 })
    lane.offer(0, 4)
    lane.taken(lane.sends())
    for (let times = 0; times < 5; times++) lane.delivery.confirmed({ latest: 0, confirmedTo: 2 })
    expect(lane.delivery.status).toMatchObject({ acknowledgedTo: 2, missing: undefined })
    expect([lane.delivery.has(1), lane.delivery.has(2)]).toEqual([false, true])
  })
})

describe('a nonce that the endpoint accepts, and its count lacks', () => {
  /** The nonce is accepted and found missing this many times. */
  const lost = (times: number) => {
    const lane = byHand(GETH)
    lane.offer(0, 1)
    let ms = 0
    for (let time = 0; time < times; time++) {
      lane.taken(lane.sends(), 0)
      ms += 10
      lane.at(ms)
      lane.count(0)
      ms += 1_000
      lane.at(ms)
      if (time > 0) lane.refresh(0, 0, true)
    }
    return lane.delivery
  }

  it('is stranded the second time: another copy changes nothing', () => {
    expect([lost(1).isStranded(0), lost(2).isStranded(0)]).toEqual([false, true])
  })

  it('is not stranded above the lowest one, or if no count shows the pool', () => {
    const full = { kind: 'full' } as const
    for (const [traits, answers, nonce] of [
      [GETH, [{ kind: 'taken' }, full], 1],
      [{ countsMempool: false }, [full, full], 0],
    ] as const) {
      const lane = byHand(traits)
      lane.offer(0, 2)
      lane.end(lane.sends().request, { end: 'answers', answers, count: 0 })
      expect(lane.delivery.isStranded(nonce)).toBe(false)
    }
  })
})
