import { describe, expect, it } from 'vitest'
import { byHand, GETH, NEVER, SEQUENCER } from './byHand.fixture.js'
import type { Demand } from './select.js'

/** The next action of a delivery if the request budget grants nothing, and its demand. */
function nextWithoutGrant({ delivery }: ReturnType<typeof byHand>, nowMs: number) {
  const asked: Demand[] = []
  const grant = (demand: Demand) => {
    asked.push(demand)
    return 0
  }
  return { action: delivery.next({ nowMs, grant, below: NEVER }), asked }
}

/** Two nonces whose request brought no answer. */
function unanswered() {
  const lane = byHand(GETH)
  lane.offer(0, 2)
  lane.end(lane.sends().request, { end: 'failed' })
  return lane
}

describe('a count that failed', () => {
  it('is requested again after a pause, which doubles each time', () => {
    const lane = unanswered()
    for (const [ms, untilMs] of [
      [0, 2_000],
      [2_000, 6_000],
      [6_000, 14_000],
    ] as const) {
      lane.at(ms)
      expect(lane.next()).toEqual({ do: 'count' })
      lane.delivery.countFailed()
      expect(lane.next()).toEqual({ do: 'wait', untilMs })
    }
  })

  it('is no failure if another reading came before', () => {
    const lane = unanswered()
    expect(lane.next()).toEqual({ do: 'count' })
    lane.at(20)
    lane.count(0)
    lane.delivery.countFailed()
    lane.end(lane.sends().request, { end: 'failed' })
    expect(lane.next()).toEqual({ do: 'count' })
  })
})

describe('a request budget that grants nothing', () => {
  it('receives the demand with priority, and no count instead of it', () => {
    const lane = byHand(GETH)
    lane.offer(0, 2)
    lane.taken(lane.sends(), 2)
    // No block brings the nonces that the count acknowledged, so another count is due.
    for (const ms of [2_000, 4_000]) {
      lane.at(ms)
      lane.refresh(0, 0, true)
    }
    lane.offer(2, 3)
    const { action, asked } = nextWithoutGrant(lane, 4_000)
    expect(action.do).toBe('wait')
    expect(asked).toEqual([{ kind: 'new', calls: 2 }])
  })

  it('makes a count wait', () => {
    const { action, asked } = nextWithoutGrant(unanswered(), 10)
    expect(action.do).toBe('wait')
    expect(asked).toEqual([{ kind: 'count', calls: 1 }])
  })
})

describe('a nonce that the pool had no room for', () => {
  it('is tried again after half a minute if no block comes, and the delivery wakes for it', () => {
    const lane = byHand(GETH)
    lane.offer(0, 1)
    lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'full' }], count: 0 })
    expect(lane.next()).toEqual({ do: 'wait', untilMs: 30_000 })
    lane.at(30_000)
    expect(lane.sends().nonces).toEqual([0])
  })
})

describe('a nonce at an endpoint without refreshes', () => {
  it('holds new nonces back until it is acknowledged, in spite of the nonces above it', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 3)
    lane.taken(lane.sends())
    lane.at(15_000)
    lane.taken(lane.sends())
    lane.offer(3, 5)
    expect(lane.next().do).toBe('wait')
    lane.at(15_200)
    lane.refresh(1)
    expect(lane.sends().nonces).toEqual([3, 4])
  })
})
